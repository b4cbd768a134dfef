import { routeOf } from '../check-command.js';
import type { OperationFilter } from '../model.js';
import type { OpId } from '../op-id.js';
import type { OperationRecord } from '../rules/operation-record.js';
import type { OperationState } from '../states.js';
import { IdOrder } from './id-order.js';
import { TimeHeap } from './time-heap.js';

type KeyParts = Pick<OperationRecord, 'tenant' | 'domain' | 'eventType' | 'bizKey' | 'idemKey'>;

/** One text for the five parts: no two keys have the same, whatever is in them. */
const keyText = ({ tenant, domain, eventType, bizKey, idemKey }: KeyParts): string =>
  JSON.stringify([tenant, domain, eventType, bizKey, idemKey]);

/** Operations, and everything by which they are found. */
export class OperationTable {
  readonly #records = new Map<OpId, OperationRecord>();
  readonly #keys = new Map<string, OpId>();
  readonly #counts: Record<OperationState, number> = { PENDING: 0, IN_PROGRESS: 0, COMPLETED: 0, FAILED: 0 };
  #deadLetters = 0;
  readonly #dueByRoute = new Map<string, TimeHeap>();
  readonly #backedByKind = new Map<string, IdOrder>();
  /** In the order of their ids. */
  readonly all = new IdOrder();
  /** An outcome is written ahead, and nobody owns it. */
  readonly ahead = new IdOrder();
  readonly leases = new TimeHeap();
  readonly due = new TimeHeap();
  readonly ended = new TimeHeap();
  /** By the beginnings of leases and waits: one in the future shows that the clock was set back. */
  readonly leasedFrom = new TimeHeap('latest first');
  readonly dueFrom = new TimeHeap('latest first');

  /** How many operations there are. */
  get size(): number {
    return this.#records.size;
  }

  /** How many there are in each state. */
  get counts(): Readonly<Record<OperationState, number>> {
    return { ...this.#counts };
  }

  /** How many are dead letters. */
  get deadLetters(): number {
    return this.#deadLetters;
  }

  get(opId: OpId): OperationRecord | undefined {
    return this.#records.get(opId);
  }

  /** Which operation has a key. */
  holderOf(key: KeyParts): OperationRecord | undefined {
    const opId = this.#keys.get(keyText(key));
    return opId === undefined ? undefined : this.#records.get(opId);
  }

  /** Writes a record, new or changed. */
  put(record: OperationRecord): void {
    const before = this.#records.get(record.opId);
    if (before === record) return;
    this.#records.set(record.opId, record);
    this.#count(before, -1);
    this.#count(record, 1);
    if (!before) this.all.add(record.opId);
    if (before?.keyed !== record.keyed) this.#index(record);
    this.#place(record, before);
  }

  /** Forgets an operation that has ended. */
  remove(record: OperationRecord): void {
    const { opId } = record;
    this.#records.delete(opId);
    this.#count(record, -1);
    this.all.delete(opId);
    this.#index({ ...record, keyed: false });
    // Only what has ended is ever removed: it is in no other place.
    this.ended.set(opId, undefined);
  }

  /** Operations with work of a kind behind them. */
  backed(kind: string): IdOrder | undefined {
    return this.#backedByKind.get(kind);
  }

  /**
   * The operation that has been due longest.
   * @param routes - only of these; of all without.
   */
  nextDue(routes: readonly string[] | undefined): { readonly opId: OpId; readonly at: number } | undefined {
    if (routes === undefined) return this.due.peek();
    let next: { readonly opId: OpId; readonly at: number } | undefined;
    for (const route of routes) {
      const first = this.#dueByRoute.get(route)?.peek();
      if (first && (!next || first.at < next.at || (first.at === next.at && first.opId < next.opId)))
        next = first;
    }
    return next;
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

  #place(record: OperationRecord, before: OperationRecord | undefined): void {
    const { opId, endedAt } = record;
    if (record.leaseUntil !== before?.leaseUntil) this.leases.set(opId, record.leaseUntil);
    if (record.leaseFrom !== before?.leaseFrom) this.leasedFrom.set(opId, record.leaseFrom);
    if (record.dueAt !== undefined || before?.dueAt !== undefined) {
      this.due.set(opId, record.dueAt);
      this.dueFrom.set(opId, record.dueFrom);
      this.#setDue(record, record.dueAt);
    }
    if (endedAt !== undefined) this.ended.set(opId, endedAt);
    if (record.ahead && endedAt === undefined && record.owner === undefined) this.ahead.add(opId);
    else this.ahead.delete(opId);
    const kind = endedAt === undefined ? record.backing?.kind : undefined;
    if (before?.backing && before.backing.kind !== kind) this.#setBacked(before, undefined);
    if (kind !== undefined) this.#setBacked(record, kind);
  }

  #setDue(record: OperationRecord, at: number | undefined): void {
    const route = routeOf(record);
    const heap = this.#dueByRoute.get(route) ?? new TimeHeap();
    heap.set(record.opId, at);
    if (heap.size > 0) this.#dueByRoute.set(route, heap);
    else this.#dueByRoute.delete(route);
  }

  #setBacked({ opId, backing }: OperationRecord, kind: string | undefined): void {
    if (kind !== undefined) {
      const order = this.#backedByKind.get(kind) ?? new IdOrder();
      order.add(opId);
      this.#backedByKind.set(kind, order);
    } else if (backing) this.#backedByKind.get(backing.kind)?.delete(opId);
  }
}

/** Whether an operation is one of those that are asked for. */
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
