import type { Clock } from '@millrace/foundation';
import type { Ending, Operation } from '../model.js';
import type { OpId } from '../op-id.js';
import type { FailOutcome } from '../outcome.js';
import type { BackedOperation, CancelAnswer, Reaped, Repairs, SettleAnswer } from '../ports.js';
import { isWaited, type OperationRecord, toOperation } from '../rules/operation-record.js';
import { clampTimes } from '../rules/own-operation.js';
import { cancel, dropBacking, endBacked, finalize, reap } from '../rules/repair-operation.js';
import { writtenSettlement } from '../rules/settle-operation.js';
import { toOutcomeText } from '../stored-json.js';
import type { OperationTable } from './operation-table.js';
import { settleAnswer } from './runs.js';

/** The repairs of a memory store. */
export class MemoryRepairs implements Repairs {
  readonly #table: OperationTable;
  readonly #clock: Clock;

  constructor(table: OperationTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  async backed(kind: string, after: OpId | undefined, limit: number): Promise<readonly BackedOperation[]> {
    const found: BackedOperation[] = [];
    for (const opId of this.#table.backed(kind)?.ascending(after) ?? []) {
      if (found.length >= limit) break;
      const { tenant, domain, eventType, backing } = this.#record(opId);
      if (backing) found.push({ opId, tenant, domain, eventType, backing });
    }
    return found;
  }

  async endBacked(opId: OpId, ending: Ending): Promise<SettleAnswer> {
    const { outcomeText, mark } = writtenSettlement('backing', { kind: 'final', ...ending });
    const { state, deadLetter } = ending;
    return this.#change(opId, (record, now) =>
      endBacked(record, { state, deadLetter, outcomeText }, mark, now),
    );
  }

  async dropBacking(opId: OpId): Promise<boolean> {
    const dropped = dropBacking(this.#table.get(opId), this.#clock.now());
    if (dropped) this.#table.put(dropped);
    return dropped !== undefined;
  }

  async cancel(opId: OpId, outcome: FailOutcome): Promise<CancelAnswer> {
    const text = toOutcomeText(outcome);
    const now = this.#clock.now();
    const before = this.#table.get(opId);
    if (!before) return { kind: 'unknown' };
    const after = cancel(before, text, now);
    if (!after) return { kind: 'ended', operation: toOperation(before) };
    this.#table.put(after);
    const operation = toOperation(after);
    return after.endedAt === undefined
      ? { kind: 'ahead', operation }
      : { kind: 'cancelled', operation, waited: isWaited(after, now) };
  }

  async ahead(limit: number, after?: OpId): Promise<readonly Operation[]> {
    const found: Operation[] = [];
    for (const opId of this.#table.ahead.ascending(after)) {
      if (found.length >= limit) break;
      found.push(toOperation(this.#record(opId)));
    }
    return found;
  }

  async finalize(opId: OpId): Promise<SettleAnswer> {
    return this.#change(opId, finalize);
  }

  async reap(limit: number): Promise<readonly Reaped[]> {
    const now = this.#clock.now();
    this.#clamp('leaseFrom', now);
    this.#clamp('dueFrom', now);
    const reaped: Reaped[] = [];
    while (reaped.length < limit) {
      const next = this.#table.first('leaseUntil');
      if (next?.leaseUntil === undefined || next.leaseUntil > now) break;
      const record = reap(next, now);
      this.#table.put(record);
      const became = record.endedAt === undefined ? 'released' : 'failed';
      reaped.push({ operation: toOperation(record), became, waited: isWaited(record, now) });
    }
    return reaped;
  }

  async prune(retentionMs: number, limit: number): Promise<number> {
    const until = this.#clock.now() - retentionMs;
    let pruned = 0;
    for (; pruned < limit; pruned++) {
      const oldest = this.#table.first('endedAt');
      if (oldest?.endedAt === undefined || oldest.endedAt > until) break;
      this.#table.remove(oldest);
    }
    return pruned;
  }

  /** Returns the operation of an id that an index of the table has just returned. */
  #record(opId: OpId): OperationRecord {
    return this.#table.get(opId) as OperationRecord;
  }

  #change(
    opId: OpId,
    rule: (record: OperationRecord | undefined, now: number) => OperationRecord | undefined,
  ): SettleAnswer {
    const now = this.#clock.now();
    const before = this.#table.get(opId);
    const after = rule(before, now);
    if (after) this.#table.put(after);
    return settleAnswer(before, after, now);
  }

  #clamp(start: 'leaseFrom' | 'dueFrom', now: number): void {
    for (;;) {
      const latest = this.#table.first(start);
      const clamped = latest && clampTimes(latest, now);
      if (!clamped) return;
      this.#table.put(clamped);
    }
  }
}
