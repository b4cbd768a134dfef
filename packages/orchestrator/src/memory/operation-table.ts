import { IndexedHeap } from '@millrace/foundation';
import { routeOf } from '../check-command.js';
import type { OperationFilter } from '../model.js';
import type { OpId } from '../op-id.js';
import type { OperationRecord } from '../rules/operation-record.js';
import type { OperationState } from '../states.js';
import { IdOrder } from './id-order.js';

type KeyParts = Pick<OperationRecord, 'tenant' | 'domain' | 'eventType' | 'bizKey' | 'idemKey'>;

/** Makes one text of the five parts. As JSON it differs for any two keys, whatever characters they contain. */
const keyText = ({ tenant, domain, eventType, bizKey, idemKey }: KeyParts): string =>
  JSON.stringify([tenant, domain, eventType, bizKey, idemKey]);

/** The times by which operations are found. */
export const TIMES = ['leaseUntil', 'leaseFrom', 'dueAt', 'dueFrom', 'endedAt'] as const;
export type Time = (typeof TIMES)[number];
type Place = Time | 'dueOnRoute';

/** The latest start of a lease or a wait comes first: one in the future shows that the clock was set back. */
const LATEST_FIRST: readonly Time[] = ['leaseFrom', 'dueFrom'];

/** An operation and its index in each heap. */
interface Entry extends Record<Place, number> {
  record: OperationRecord;
}

type TimeHeap = IndexedHeap<Entry, Place>;

/** Compares by a time. Equal times are ordered by id. */
function comesBefore(time: Time, one: OperationRecord, other: OperationRecord): boolean {
  const [a, b] = [one[time] as number, other[time] as number];
  if (a === b) return one.opId < other.opId;
  return LATEST_FIRST.includes(time) ? a > b : a < b;
}

const heapBy = (time: Time, place: Place = time): TimeHeap =>
  new IndexedHeap(place, (one, other) => comesBefore(time, one.record, other.record));

/** All operations of a memory store, with an index for each way to find them. */
export class OperationTable {
  readonly #entries = new Map<OpId, Entry>();
  readonly #keys = new Map<string, OpId>();
  readonly #counts: Record<OperationState, number> = { PENDING: 0, IN_PROGRESS: 0, COMPLETED: 0, FAILED: 0 };
  #deadLetters = 0;
  readonly #byTime: Readonly<Record<Time, TimeHeap>> = {
    leaseUntil: heapBy('leaseUntil'),
    leaseFrom: heapBy('leaseFrom'),
    dueAt: heapBy('dueAt'),
    dueFrom: heapBy('dueFrom'),
    endedAt: heapBy('endedAt'),
  };
  readonly #dueByRoute = new Map<string, TimeHeap>();
  readonly #backedByKind = new Map<string, IdOrder>();
  /** In the order of their ids. */
  readonly all = new IdOrder();
  /** Operations without an owner whose outcome is written ahead. */
  readonly ahead = new IdOrder();

  /** Number of operations. */
  get size(): number {
    return this.#entries.size;
  }

  /** Number of operations in each state. */
  get counts(): Readonly<Record<OperationState, number>> {
    return { ...this.#counts };
  }

  /** Number of dead letters. */
  get deadLetters(): number {
    return this.#deadLetters;
  }

  get(opId: OpId): OperationRecord | undefined {
    return this.#entries.get(opId)?.record;
  }

  /** Returns the operation that has a key. */
  holderOf(key: KeyParts): OperationRecord | undefined {
    const opId = this.#keys.get(keyText(key));
    return opId === undefined ? undefined : this.get(opId);
  }

  /** Returns the operation that has this time and is the earliest, or the latest by `leaseFrom` and `dueFrom`. */
  first(time: Time): OperationRecord | undefined {
    return this.#byTime[time].peek()?.record;
  }

  /** Returns the operation that has been due longest, of all or of these routes. */
  nextDue(routes: readonly string[] | undefined): OperationRecord | undefined {
    if (routes === undefined) return this.first('dueAt');
    let next: OperationRecord | undefined;
    for (const route of routes) {
      const first = this.#dueByRoute.get(route)?.peek()?.record;
      if (first && (!next || comesBefore('dueAt', first, next))) next = first;
    }
    return next;
  }

  /** Returns the operations with work of a kind behind them. */
  backed(kind: string): IdOrder | undefined {
    return this.#backedByKind.get(kind);
  }

  /** Writes a record, new or changed. */
  put(record: OperationRecord): void {
    const { opId } = record;
    const known = this.#entries.get(opId);
    const before = known?.record;
    if (before === record) return;
    const entry = known ?? newEntry(record);
    entry.record = record;
    this.#count(before, -1);
    this.#count(record, 1);
    if (!known) {
      this.#entries.set(opId, entry);
      this.all.add(opId);
    }
    if (before?.keyed !== record.keyed) this.#index(record);
    for (const time of TIMES)
      if (record[time] !== before?.[time]) place(this.#byTime[time], entry, record[time] !== undefined);
    if (record.dueAt !== before?.dueAt) this.#placeOnRoute(entry);
    if (record.ahead && record.endedAt === undefined && record.owner === undefined) this.ahead.add(opId);
    else this.ahead.delete(opId);
    this.#placeBehind(record, before);
  }

  /** Forgets an operation that has ended. Such a one is in no other index. */
  remove(record: OperationRecord): void {
    const entry = this.#entries.get(record.opId);
    if (!entry) return;
    this.#entries.delete(record.opId);
    this.#count(record, -1);
    this.all.delete(record.opId);
    this.#index({ ...record, keyed: false });
    this.#byTime.endedAt.remove(entry);
  }

  #count(record: OperationRecord | undefined, by: number): void {
    if (!record) return;
    this.#counts[record.state] += by;
    if (record.deadLetter) this.#deadLetters += by;
  }

  #index(record: OperationRecord): void {
    const text = keyText(record);
    if (record.keyed) this.#keys.set(text, record.opId);
    else if (this.#keys.get(text) === record.opId) this.#keys.delete(text);
  }

  #placeOnRoute(entry: Entry): void {
    const route = routeOf(entry.record);
    const heap = this.#dueByRoute.get(route) ?? heapBy('dueAt', 'dueOnRoute');
    place(heap, entry, entry.record.dueAt !== undefined);
    // Callers name routes, so an empty heap must not stay.
    if (heap.size > 0) this.#dueByRoute.set(route, heap);
    else this.#dueByRoute.delete(route);
  }

  #placeBehind({ opId, endedAt, backing }: OperationRecord, before: OperationRecord | undefined): void {
    const kind = endedAt === undefined ? backing?.kind : undefined;
    const kindBefore = before?.backing?.kind;
    if (kindBefore !== undefined && kindBefore !== kind) this.#backedByKind.get(kindBefore)?.delete(opId);
    if (kind === undefined) return;
    const order = this.#backedByKind.get(kind) ?? new IdOrder();
    order.add(opId);
    this.#backedByKind.set(kind, order);
  }
}

const newEntry = (record: OperationRecord): Entry => ({
  record,
  leaseUntil: -1,
  leaseFrom: -1,
  dueAt: -1,
  dueFrom: -1,
  dueOnRoute: -1,
  endedAt: -1,
});

function place(heap: TimeHeap, entry: Entry, isIn: boolean): void {
  if (isIn) heap.put(entry);
  else heap.remove(entry);
}

/** Reports whether an operation matches a filter. */
export function isMatch(record: OperationRecord, filter: OperationFilter): boolean {
  const isWanted = <T>(wanted: T | undefined, value: T) => wanted === undefined || wanted === value;
  return (
    isWanted(filter.tenant, record.tenant) &&
    isWanted(filter.domain, record.domain) &&
    isWanted(filter.eventType, record.eventType) &&
    isWanted(filter.bizKey, record.bizKey) &&
    isWanted(filter.state, record.state) &&
    (filter.deadLetter !== true || record.deadLetter)
  );
}
