import type { Clock } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { NewOperation, OwnedOperation, RunRef, Settlement } from '../model.js';
import type { OpId } from '../op-id.js';
import type { AcceptAnswer, ClaimRequest, Runs, SettleAnswer } from '../ports.js';
import {
  FIRST_TOKEN,
  isWaited,
  newRecord,
  type OperationRecord,
  toOperation,
  toOwned,
} from '../rules/operation-record.js';
import { begin, claim, extendLease, isOwnedBy, isSameRequest, judgeKey } from '../rules/own-operation.js';
import { settle, writtenSettlement } from '../rules/settle-operation.js';
import type { OperationTable } from './operation-table.js';

/** Makes the answer of a change from the record before and after it. */
export function settleAnswer(
  before: OperationRecord | undefined,
  after: OperationRecord | undefined,
  now: number,
): SettleAnswer {
  if (after) return { kind: 'settled', operation: toOperation(after), waited: isWaited(after, now) };
  return { kind: 'refused', operation: before && toOperation(before) };
}

/** The runs of a memory store. */
export class MemoryRuns implements Runs {
  readonly #table: OperationTable;
  readonly #clock: Clock;
  readonly #operationsMax: number;

  constructor(table: OperationTable, clock: Clock, operationsMax: number) {
    this.#table = table;
    this.#clock = clock;
    this.#operationsMax = operationsMax;
  }

  async accept(given: NewOperation): Promise<AcceptAnswer> {
    const now = this.#clock.now();
    const { opId, tenant, command } = given.envelope;
    const same = this.#table.get(opId);
    if (same)
      return isSameRequest(same, given)
        ? { kind: 'accepted', token: FIRST_TOKEN }
        : { kind: 'conflict', opId };
    const holder = this.#table.holderOf({ ...command, tenant });
    const verdict = holder && judgeKey(holder, given, now);
    if (holder && verdict === 'known') return { kind: 'known', operation: toOperation(holder) };
    if (holder && verdict === 'conflict') return { kind: 'conflict', opId: holder.opId };
    const record = newRecord(given, now);
    this.#makeRoom();
    if (holder && this.#table.get(holder.opId)) this.#table.put({ ...holder, keyed: false });
    this.#table.put(record);
    return { kind: 'accepted', token: FIRST_TOKEN };
  }

  async begin(refs: readonly RunRef[]): Promise<void> {
    const now = this.#clock.now();
    for (const { opId, token } of refs) {
      const record = this.#table.get(opId);
      if (isOwnedBy(record, token)) this.#table.put(begin(record, now));
    }
  }

  async settle({ opId, token }: RunRef, settlement: Settlement): Promise<SettleAnswer> {
    const written = writtenSettlement(token, settlement);
    const now = this.#clock.now();
    const before = this.#table.get(opId);
    const after = settle(before, token, written, now);
    if (after) this.#table.put(after);
    return settleAnswer(before, after, now);
  }

  async extend(refs: readonly RunRef[], leaseMs: number): Promise<ReadonlySet<OpId>> {
    const now = this.#clock.now();
    const lost = new Set<OpId>();
    for (const { opId, token } of refs) {
      const record = this.#table.get(opId);
      if (isOwnedBy(record, token)) this.#table.put(extendLease(record, leaseMs, now));
      else lost.add(opId);
    }
    return lost;
  }

  async claim({ routes, limit, ...by }: ClaimRequest): Promise<readonly OwnedOperation[]> {
    const now = this.#clock.now();
    const claimed: OwnedOperation[] = [];
    while (claimed.length < limit) {
      const next = this.#table.nextDue(routes);
      if (next?.dueAt === undefined || next.dueAt > now) break;
      const record = claim(next, by, now);
      this.#table.put(record);
      claimed.push(toOwned(record));
    }
    return claimed;
  }

  #makeRoom(): void {
    if (this.#table.size < this.#operationsMax) return;
    const oldest = this.#table.first('endedAt');
    if (!oldest) throw ERRORS.create('STORE_FULL', { operations: this.#table.size });
    this.#table.remove(oldest);
  }
}
