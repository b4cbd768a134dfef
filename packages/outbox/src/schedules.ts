import { NO_TENANT } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { checkedText, encodePayload, KEY_LENGTH_MAX, requireKeyFits } from './batch-input.js';
import { pageSize } from './batches.js';
import { cronPeriods, timingProblem } from './cron-periods.js';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { Page, Schedule } from './model.js';
import { shown } from './rules/names.js';
import { periodKey, SCHEDULE_NAME_LENGTH_MAX } from './rules/schedule.js';

/** The settings of a schedule. */
export interface ScheduleInput {
  /** Unique within its tenant. */
  readonly name: string;
  /** Tenant of its batches (''). */
  readonly tenant?: string | undefined;
  /** Name of a stored DAG. Each batch takes the version that is applied, or was registered last, when it starts. */
  readonly dag: string;
  /** Five fields (minute, hour, day of month, month, day of week), six with seconds first, seven with the year last, or `@daily` and the like. */
  readonly cron: string;
  /** IANA name (`UTC`). */
  readonly timeZone?: string | undefined;
  /** Payload of its batches (`{}`). */
  readonly payload?: unknown;
  /** Periods passed while no instance ran that still get a batch: the latest `one` (default), `all` or `none`. */
  readonly catchUp?: Schedule['catchUp'] | undefined;
  /** undefined keeps the stored value. A new schedule is not paused. */
  readonly paused?: boolean | undefined;
}

/** Identifies a schedule. */
export interface ScheduleKey {
  readonly name: string;
  readonly tenant?: string | undefined;
}

/** Selects the schedules to list. */
export interface ScheduleFilter {
  /** undefined selects all tenants. */
  readonly tenant?: string | undefined;
  readonly dag?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** The settings of a schedule to store. */
export interface ScheduleChange {
  readonly tenant: string;
  readonly name: string;
  readonly dag: string;
  readonly cron: string;
  readonly timeZone: string;
  /** JSON text. undefined keeps the stored one. */
  readonly payload: string | undefined;
  readonly catchUp: Schedule['catchUp'];
  readonly paused: boolean;
  readonly nextAt: Date | undefined;
}

/** Stored schedules. */
export interface ScheduleStore {
  /** Reads the clock of the database. */
  now(tx: Tx): Promise<Date>;
  get(tenant: string, name: string): Promise<Schedule | undefined>;
  /** Lists schedules by tenant and name. */
  list(filter: {
    readonly tenant?: string | undefined;
    readonly dag?: string | undefined;
    readonly after?: readonly [tenant: string, name: string] | undefined;
    readonly limit: number;
  }): Promise<Schedule[]>;
  /** Takes the lock under which a schedule is changed. */
  lock(tx: Tx, tenant: string, name: string): Promise<Schedule | undefined>;
  /** Stores a new schedule. Returns undefined if its name has been taken since. */
  insert(tx: Tx, change: ScheduleChange): Promise<Schedule | undefined>;
  /** Changes a locked schedule. */
  update(tx: Tx, change: ScheduleChange): Promise<Schedule>;
  /** Removes a schedule. Returns false if there is none. */
  remove(tenant: string, name: string): Promise<boolean>;
}

const CATCH_UPS: readonly unknown[] = ['one', 'all', 'none'] satisfies readonly Schedule['catchUp'][];
const CONTROL = /[\p{Cc}\p{Surrogate}]/u;

/** Sets and reads schedules, which start batches by the clock. Instances that poll start their batches. */
export class Schedules {
  readonly #kit: Kit;
  readonly #store: ScheduleStore;
  readonly #afterChange: () => void;

  /** @param afterChange - called when a schedule may be due earlier than before. */
  constructor(kit: Kit, store: ScheduleStore, afterChange: () => void) {
    this.#kit = kit;
    this.#store = store;
    this.#afterChange = afterChange;
  }

  /**
   * Creates a schedule, or changes the one of this name. With the same cron and time zone its next period stays, so a program
   * may set its schedules at every start. Otherwise, and when a pause ends, the next period is the first one from now on.
   * @throws MillraceError `SCHEDULE_INVALID`, `DAG_NOT_FOUND`, `BATCH_TOO_LARGE`, `ID_INVALID`, `PARAMETER_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async set(input: ScheduleInput): Promise<Schedule> {
    const { dag } = input;
    const change = this.#checked(input);
    if (typeof dag !== 'string' || !(await this.#kit.batches.hasDag(dag)))
      throw ERRORS.create('DAG_NOT_FOUND', { dag: shown(dag) });
    return this.#write(async (tx) => {
      // Repeat if another instance has stored one of this name between the two.
      for (;;) {
        const present = await this.#store.lock(tx, change.tenant, change.name);
        const paused = input.paused ?? present?.paused ?? false;
        const next = { ...change, paused, nextAt: await this.#nextAt(tx, change, paused, present) };
        const stored = present ? await this.#store.update(tx, next) : await this.#store.insert(tx, next);
        if (stored) return stored;
      }
    });
  }

  /**
   * Returns one schedule.
   * @throws MillraceError `SCHEDULE_NOT_FOUND`.
   */
  async get({ name, tenant = NO_TENANT }: ScheduleKey): Promise<Schedule> {
    const schedule = await this.#store.get(tenant, name);
    if (!schedule) throw notFound(name);
    return schedule;
  }

  /** Lists schedules by tenant and name, in pages. */
  async list({ cursor, limit, ...filter }: ScheduleFilter = {}): Promise<Page<Schedule>> {
    const size = pageSize(limit);
    const items = await this.#store.list({ ...filter, after: parseCursor(cursor), limit: size });
    const last = items.length < size ? undefined : items.at(-1);
    return { items, cursor: last && JSON.stringify([last.tenant, last.name]) };
  }

  /**
   * Starts no more batches of a schedule until it is resumed. Periods that pass meanwhile get none.
   * @throws MillraceError `SCHEDULE_NOT_FOUND`.
   */
  pause(key: ScheduleKey): Promise<Schedule> {
    return this.#setPaused(key, true);
  }

  /**
   * Ends a pause. The next batch is that of the first period from now on.
   * @throws MillraceError `SCHEDULE_NOT_FOUND`.
   */
  resume(key: ScheduleKey): Promise<Schedule> {
    return this.#setPaused(key, false);
  }

  /**
   * Removes a schedule. Its batches stay.
   * @returns false if there is none.
   */
  remove({ name, tenant = NO_TENANT }: ScheduleKey): Promise<boolean> {
    return this.#store.remove(tenant, name);
  }

  #setPaused({ name, tenant = NO_TENANT }: ScheduleKey, paused: boolean): Promise<Schedule> {
    return this.#write(async (tx) => {
      const present = await this.#store.lock(tx, tenant, name);
      if (!present) throw notFound(name);
      if (present.paused === paused) return present;
      const nextAt = await this.#nextAt(tx, present, paused, present);
      return this.#store.update(tx, { ...present, payload: undefined, paused, nextAt });
    });
  }

  async #write(work: (tx: Tx) => Promise<Schedule>): Promise<Schedule> {
    const schedule = await this.#kit.options.database.transaction(work, { retries: 3 });
    this.#afterChange();
    return schedule;
  }

  /** Computes the next period, under the lock: `lastAt` has the last one that was started. */
  async #nextAt(
    tx: Tx,
    timing: Pick<ScheduleChange, 'name' | 'cron' | 'timeZone'>,
    paused: boolean,
    present: Schedule | undefined,
  ): Promise<Date | undefined> {
    const isSame = present?.cron === timing.cron && present.timeZone === timing.timeZone;
    if (isSame && (paused || !present.paused)) return present.nextAt;
    const now = await this.#store.now(tx);
    // If the clock of the database was set back, a period that has its batch must not come again.
    const afterMs = Math.max(now.getTime(), present?.lastAt?.getTime() ?? 0);
    const nextMs = cronPeriods(timing).after(afterMs);
    if (nextMs === undefined) throw invalid(timing.name, 'its cron never comes again');
    return new Date(nextMs);
  }

  #checked(input: ScheduleInput): Omit<ScheduleChange, 'paused' | 'nextAt'> {
    const { name, tenant, dag, cron, timeZone = 'UTC', payload = {}, catchUp = 'one', paused } = input;
    const reason =
      nameProblem(name) ??
      timingProblem(cron, timeZone) ??
      (CATCH_UPS.includes(catchUp) ? undefined : "its catchUp must be 'one', 'all' or 'none'") ??
      (paused === undefined || typeof paused === 'boolean' ? undefined : 'paused must be true or false');
    if (reason !== undefined) throw invalid(name, reason);
    const checked = checkedText('tenant', tenant ?? NO_TENANT, 0, KEY_LENGTH_MAX);
    requireKeyFits(checked, periodKey(name, 0));
    const text = encodePayload(shown(dag), payload, this.#kit.options.payloadBytesMax);
    return { name, tenant: checked, dag, cron, timeZone, payload: text, catchUp };
  }
}

const nameProblem = (name: unknown): string | undefined =>
  typeof name === 'string' &&
  name !== '' &&
  name.length <= SCHEDULE_NAME_LENGTH_MAX &&
  !CONTROL.test(name) &&
  // A URL treats these as path steps, escaped or not, so no API call could name them.
  name !== '.' &&
  name !== '..'
    ? undefined
    : `its name must be 1 to ${SCHEDULE_NAME_LENGTH_MAX} characters, without control characters, and not '.' or '..'`;

const invalid = (name: unknown, reason: string) =>
  ERRORS.create('SCHEDULE_INVALID', { schedule: shown(name), reason });

const notFound = (name: unknown) => ERRORS.create('SCHEDULE_NOT_FOUND', { schedule: shown(name) });

/** An unknown cursor starts from the beginning. */
function parseCursor(cursor: string | undefined): readonly [string, string] | undefined {
  try {
    const parts: unknown = JSON.parse(cursor ?? 'null');
    if (!Array.isArray(parts) || parts.length !== 2 || parts.some((part) => typeof part !== 'string'))
      return undefined;
    return [parts[0], parts[1]];
  } catch {
    return undefined;
  }
}
