import type { Tx } from '@millrace/postgres';
import type { Ending, Operation } from '../model.js';
import type { OpId } from '../op-id.js';
import type { FailOutcome } from '../outcome.js';
import type { BackedOperation, CancelAnswer, Reaped, Repairs, SettleAnswer } from '../ports.js';
import { LOST_TEXTS } from '../rules/repair-operation.js';
import { writtenSettlement } from '../rules/settle-operation.js';
import { toOutcomeText } from '../stored-json.js';
import { type OperationRow, rowToOperation, type SettledRow, toSettleAnswer } from './rows.js';
import type { StatementCalls } from './statement-calls.js';

interface BackedRow {
  readonly op_id: OpId;
  readonly tenant: string;
  readonly domain: string;
  readonly event_type: string;
  readonly backing_kind: string;
  readonly backing_ref: string;
}

type CancelRow = OperationRow & {
  readonly answer: 'cancelled' | 'ahead' | 'ended';
  readonly waited: boolean;
};

/** The repairs of a PostgreSQL store. */
export class PostgresRepairs implements Repairs {
  readonly #calls: StatementCalls;

  constructor(calls: StatementCalls) {
    this.#calls = calls;
  }

  async backed(kind: string, after: OpId | undefined, limit: number): Promise<readonly BackedOperation[]> {
    const rows = await this.#calls.rows<BackedRow>('backed', [kind, after, limit]);
    return rows.map((row) => ({
      opId: row.op_id,
      tenant: row.tenant,
      domain: row.domain,
      eventType: row.event_type,
      backing: { kind: row.backing_kind, ref: row.backing_ref },
    }));
  }

  async endBacked(opId: OpId, ending: Ending, tx?: Tx): Promise<SettleAnswer> {
    const { outcomeText, mark } = writtenSettlement('backing', { kind: 'final', ...ending });
    const params = [opId, ending.state, outcomeText, ending.deadLetter, mark];
    const [row] = await this.#calls.rows<SettledRow>('end-backed', params, { tx });
    return toSettleAnswer(row);
  }

  async dropBacking(opId: OpId): Promise<boolean> {
    return (await this.#calls.rows('drop-backing', [opId])).length > 0;
  }

  async cancel(opId: OpId, outcome: FailOutcome): Promise<CancelAnswer> {
    const [row] = await this.#calls.rows<CancelRow>('cancel', [opId, toOutcomeText(outcome)]);
    if (!row) return { kind: 'unknown' };
    const operation = rowToOperation(row);
    return row.answer === 'cancelled'
      ? { kind: 'cancelled', operation, waited: row.waited }
      : { kind: row.answer, operation };
  }

  async ahead(limit: number, after?: OpId): Promise<readonly Operation[]> {
    return (await this.#calls.rows<OperationRow>('ahead', [limit, after])).map(rowToOperation);
  }

  async finalize(opId: OpId): Promise<SettleAnswer> {
    const [row] = await this.#calls.rows<SettledRow>('finalize', [opId]);
    return toSettleAnswer(row);
  }

  async reap(limit: number): Promise<readonly Reaped[]> {
    const rows = await this.#calls.rows<OperationRow & { waited: boolean }>('reap', [
      limit,
      LOST_TEXTS.atMostOnce,
      LOST_TEXTS.spent,
    ]);
    return rows.map((row) => ({
      operation: rowToOperation(row),
      became: row.ended_at === null ? 'released' : 'failed',
      waited: row.waited,
    }));
  }

  async prune(retentionMs: number, limit: number): Promise<number> {
    return (await this.#calls.query('prune', [retentionMs, limit])).rowCount;
  }
}
