import type { Database, SqlParameter, Tx } from '@millrace/postgres';
import type { Schedule } from '../model.js';
import type { Statements } from './statements.js';

/** What a schedule is set to. */
export interface ScheduleChange {
  readonly tenant: string;
  readonly name: string;
  readonly dag: string;
  readonly cron: string;
  readonly timeZone: string;
  /** JSON text; as it was unless given. */
  readonly payload: string | undefined;
  readonly catchUp: Schedule['catchUp'];
  readonly paused: boolean;
  readonly nextAt: Date | undefined;
}

/** A schedule that is due, while nobody else can start its batches. */
export interface DueSchedule extends Schedule {
  /** JSON text. */
  readonly payloadText: string;
  /** Time of the database. */
  readonly now: Date;
}

/** The statements about schedules. */
export class ScheduleStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** Time of the database. */
  async now(tx: Tx): Promise<Date> {
    const { rows } = await tx.query<{ now: Date }>(this.#statements.get('read-clock').sql);
    return (rows[0] as { now: Date }).now;
  }

  /** One schedule. */
  async get(tenant: string, name: string): Promise<Schedule | undefined> {
    const { sql } = this.#statements.get('get-schedule');
    const { rows } = await this.#database.query<ScheduleRow>(sql, [tenant, name], { repeatable: true });
    return rows[0] && toSchedule(rows[0]);
  }

  /** Schedules by tenant and name, a page of them. */
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

  /** Takes the lock under which a schedule is changed. */
  async lock(tx: Tx, tenant: string, name: string): Promise<Schedule | undefined> {
    const { rows } = await tx.query<ScheduleRow>(this.#statements.get('lock-schedule').sql, [tenant, name]);
    return rows[0] && toSchedule(rows[0]);
  }

  /** Stores a new schedule; undefined when there is one of its name by now. */
  insert(tx: Tx, change: ScheduleChange): Promise<Schedule | undefined> {
    return this.#put(tx, 'insert-schedule', change);
  }

  /** Changes a locked schedule. */
  async update(tx: Tx, change: ScheduleChange): Promise<Schedule> {
    return (await this.#put(tx, 'update-schedule', change)) as Schedule;
  }

  /** Removes a schedule; gives whether there was one. */
  async remove(tenant: string, name: string): Promise<boolean> {
    const { sql } = this.#statements.get('remove-schedule');
    return (await this.#database.query(sql, [tenant, name])).rows.length > 0;
  }

  /** How long until a schedule is due; 0 or less when one is, undefined when there is none. */
  async waitMs(): Promise<number | undefined> {
    const { sql, name } = this.#statements.get('next-schedule');
    const { rows } = await this.#database.query<{ wait_ms: number | null }>(sql, [], {
      name,
      repeatable: true,
    });
    return rows[0]?.wait_ms ?? undefined;
  }

  /** Takes a schedule that is due and that nobody else has taken. */
  async take(tx: Tx): Promise<DueSchedule | undefined> {
    const { sql } = this.#statements.get('take-schedule');
    const { rows } = await tx.query<ScheduleRow & { payload_text: string; now: Date }>(sql);
    const [row] = rows;
    return row && { ...toSchedule(row), payloadText: row.payload_text, now: row.now };
  }

  /** Notes what is settled of a schedule that was taken. */
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

  /** Looks at a schedule later, because its batch could not be started; gives whether it stood as it did then. */
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
