import type { Operation, OperationFilter, Page } from '../model.js';
import { OpId } from '../op-id.js';
import type { OpenCounts, OperationCounts, Views } from '../ports.js';
import { isTerminal } from '../states.js';
import { type OperationRow, rowToOperation } from './rows.js';
import type { StatementCalls } from './statement-calls.js';

interface OpenCountsRow {
  readonly pending: number;
  readonly in_progress: number;
  readonly oldest_due_ms: number;
}

interface CountsRow extends OpenCountsRow {
  readonly completed: number;
  readonly failed: number;
  readonly dead_letters: number;
}

/** The views of a PostgreSQL store. */
export class PostgresViews implements Views {
  readonly #calls: StatementCalls;

  constructor(calls: StatementCalls) {
    this.#calls = calls;
  }

  async get(opId: OpId): Promise<Operation | undefined> {
    const [row] = await this.#calls.rows<OperationRow>('get', [opId]);
    return row && rowToOperation(row);
  }

  async watch(opIds: readonly OpId[], waitMs: number): Promise<readonly Operation[]> {
    if (opIds.length === 0) return [];
    return (await this.#calls.rows<OperationRow>('watch', [opIds, waitMs])).map(rowToOperation);
  }

  async list(filter: OperationFilter, limit: number, cursor: string | undefined): Promise<Page<Operation>> {
    const { tenant, domain, eventType, bizKey, state, deadLetter } = filter;
    const before = cursor === undefined ? undefined : OpId.of(cursor);
    const verb = state !== undefined && !isTerminal(state) ? 'list-open' : 'list';
    // One operation more shows whether there is another page.
    const params = [tenant, domain, eventType, bizKey, state, deadLetter === true, before, limit + 1];
    const rows = await this.#calls.rows<OperationRow>(verb, params, { prepared: false });
    const items = rows.slice(0, limit).map(rowToOperation);
    return { items, cursor: rows.length > limit ? items.at(-1)?.opId : undefined };
  }

  async counts(): Promise<OperationCounts> {
    // Not prepared, for the reason at openCounts.
    const [row] = await this.#calls.rows<CountsRow>('counts', [], { prepared: false });
    const { pending, in_progress, completed, failed, dead_letters, oldest_due_ms } = row as CountsRow;
    return {
      byState: { PENDING: pending, IN_PROGRESS: in_progress, COMPLETED: completed, FAILED: failed },
      deadLetters: dead_letters,
      oldestDueMs: oldest_due_ms,
    };
  }

  async openCounts(): Promise<OpenCounts> {
    // A plan made for few operations would read all ended ones, as long as its connection lives.
    const [row] = await this.#calls.rows<OpenCountsRow>('open-counts', [], { prepared: false });
    const { pending, in_progress, oldest_due_ms } = row as OpenCountsRow;
    return { byState: { PENDING: pending, IN_PROGRESS: in_progress }, oldestDueMs: oldest_due_ms };
  }
}
