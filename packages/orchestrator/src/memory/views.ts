import type { Clock } from '@millrace/foundation';
import type { Operation, OperationFilter, Page } from '../model.js';
import { OpId } from '../op-id.js';
import type { OpenCounts, OperationCounts, Views } from '../ports.js';
import { type OperationRecord, toOperation } from '../rules/operation-record.js';
import { noteWait } from '../rules/own-operation.js';
import { isMatch, type OperationTable } from './operation-table.js';

/** The views of a memory store. */
export class MemoryViews implements Views {
  readonly #table: OperationTable;
  readonly #clock: Clock;

  constructor(table: OperationTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  async get(opId: OpId): Promise<Operation | undefined> {
    const record = this.#table.get(opId);
    return record && toOperation(record);
  }

  async watch(opIds: readonly OpId[], waitMs: number): Promise<readonly Operation[]> {
    const now = this.#clock.now();
    return [...new Set(opIds)].sort().flatMap((opId) => {
      const record = this.#table.get(opId);
      if (!record) return [];
      const noted = noteWait(record, waitMs, now);
      this.#table.put(noted);
      return [toOperation(noted)];
    });
  }

  async list(filter: OperationFilter, limit: number, cursor: string | undefined): Promise<Page<Operation>> {
    const found: OperationRecord[] = [];
    for (const opId of this.#table.all.descending(cursor === undefined ? undefined : OpId.of(cursor))) {
      const record = this.#table.get(opId) as OperationRecord;
      if (!isMatch(record, filter)) continue;
      if (found.length === limit) return { items: found.map(toOperation), cursor: found.at(-1)?.opId };
      found.push(record);
    }
    return { items: found.map(toOperation), cursor: undefined };
  }

  async counts(): Promise<OperationCounts> {
    const { counts: byState, deadLetters } = this.#table;
    return { byState, deadLetters, oldestDueMs: this.#oldestDueMs() };
  }

  async openCounts(): Promise<OpenCounts> {
    const { PENDING, IN_PROGRESS } = this.#table.counts;
    return { byState: { PENDING, IN_PROGRESS }, oldestDueMs: this.#oldestDueMs() };
  }

  #oldestDueMs(): number {
    const now = this.#clock.now();
    return Math.max(0, now - (this.#table.first('dueAt')?.dueAt ?? now));
  }
}
