import type { Database, SqlParameter, Tx } from '@millrace/postgres';
import type { Schedule } from '../model.js';
import type { DueSchedule, DueStore } from '../scheduler.js';
import type { ScheduleChange, ScheduleStore } from '../schedules.js';
import type { Statements } from './statements.js';

/** The statements about schedules. */
export class PostgresScheduleStore implements ScheduleStore, DueStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async now(tx: Tx): Promise<Date> {
    const { rows } = await tx.query<{ now: Date }>(this.#statements.get('read-clock').sql);
    return (rows[0] as { now: Date }).now;
  }

  async get(tenant: string, name: string): Promise<Schedule | undefined> {
    const { sql } = this.#statements.get('get-schedule');
    const { rows } = await this.#database.query<ScheduleRow>(sql, [tenant, name], { repeatable: true });
    return rows[0] && toSchedule(rows[0]);
  }

  async list(filter: {
    readonly tenant?: string | undefined;
    readonly dag?: string | undefined;
    readonly after?: readonly [tenant: string, name: string] | undefined;
    readonly limit: number;
  }): Promise<Schedule[]> {
    const { tenant, dag, after = [], limit } = filter;
    const { sql } = this.#statements.get('list-schedules');
    const params = [tenant, dag, after[0], after[1], limit];
    const { rows } = await this.#database.query<ScheduleRow>(sql, params, { repeatable: true });
    return rows.map(toSchedule);
  }

  async lock(tx: Tx, tenant: string, name: string): Promise<Schedule | undefined> {
    const { rows } = await tx.query<ScheduleRow>(this.#statements.get('lock-schedule').sql, [tenant, name]);
    return rows[0] && toSchedule(rows[0]);
  }

  insert(tx: Tx, change: ScheduleChange): Promise<Schedule | undefined> {
    return this.#put(tx, 'insert-schedule', change);
  }

  async update(tx: Tx, change: ScheduleChange): Promise<Schedule> {
    return (await this.#put(tx, 'update-schedule', change)) as Schedule;
  }

  async remove(tenant: string, name: string): Promise<boolean> {
    const { sql } = this.#statements.get('remove-schedule');
    return (await this.#database.query(sql, [tenant, name])).rows.length > 0;
  }

  async waitMs(): Promise<number | undefined> {
    const { sql, name } = this.#statements.get('next-schedule');
    const { rows } = await this.#database.query<{ wait_ms: number | null }>(sql, [], {
      name,
      repeatable: true,
    });
    return rows[0]?.wait_ms ?? undefined;
  }

  async take(tx: Tx): Promise<DueSchedule | undefined> {
    const { sql } = this.#statements.get('take-schedule');
    const { rows } = await tx.query<ScheduleRow & { payload_text: string; now: Date }>(sql);
    const [row] = rows;
    return row && { ...toSchedule(row), payloadText: row.payload_text, now: row.now };
  }

  async advance(
    tx: Tx,
    { tenant, name }: Schedule,
    settled: {
      readonly nextAt: Date | undefined;
      readonly lastAt: Date | undefined;
      readonly batchId: string | undefined;
    },
  ): Promise<void> {
    const { nextAt, lastAt, batchId } = settled;
    await tx.query(this.#statements.get('advance-schedule').sql, [tenant, name, nextAt, lastAt, batchId]);
  }

  async postpone(
    { tenant, name, nextAt, failures }: Schedule,
    { error, delayMs }: { readonly error: string; readonly delayMs: number },
  ): Promise<boolean> {
    const { sql } = this.#statements.get('postpone-schedule');
    const params = [tenant, name, nextAt, failures, error, delayMs];
    return (await this.#database.query(sql, params)).rows.length > 0;
  }

  async #put(tx: Tx, verb: string, change: ScheduleChange): Promise<Schedule | undefined> {
    const { tenant, name, dag, cron, timeZone, payload, catchUp, paused, nextAt } = change;
    const params: SqlParameter[] = [tenant, name, dag, cron, timeZone, payload, catchUp, paused, nextAt];
    const { rows } = await tx.query<ScheduleRow>(this.#statements.get(verb).sql, params);
    return rows[0] && toSchedule(rows[0]);
  }
}

interface ScheduleRow {
  readonly tenant: string;
  readonly name: string;
  readonly dag: string;
  readonly cron: string;
  readonly time_zone: string;
  readonly payload: unknown;
  readonly catch_up: Schedule['catchUp'];
  readonly paused: boolean;
  readonly next_at: Date | null;
  readonly last_at: Date | null;
  readonly last_batch_id: string | null;
  readonly failures: number;
  readonly error: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const toSchedule = (row: ScheduleRow): Schedule => ({
  tenant: row.tenant,
  name: row.name,
  dag: row.dag,
  cron: row.cron,
  timeZone: row.time_zone,
  payload: row.payload,
  catchUp: row.catch_up,
  paused: row.paused,
  nextAt: row.next_at ?? undefined,
  lastAt: row.last_at ?? undefined,
  lastBatchId: row.last_batch_id ?? undefined,
  failures: row.failures,
  error: row.error ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
