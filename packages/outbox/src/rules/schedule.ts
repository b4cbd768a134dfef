import type { Schedule } from '../model.js';

/** The policy for periods that passed while no instance ran. */
export type CatchUp = Schedule['catchUp'];

/** The periods of a schedule, in milliseconds since 1970. */
export interface Periods {
  /** Returns the first period after a time, or undefined. */
  after(ms: number): number | undefined;
  /** Returns the latest period that is not after a time, or undefined. */
  until(ms: number): number | undefined;
}

/** A schedule and the time, all in milliseconds since 1970. */
export interface ScheduleState {
  readonly periods: Periods;
  /** The first period that is not settled yet. undefined if there is none. */
  readonly nextMs: number | undefined;
  /** Time of the database. */
  readonly nowMs: number;
  readonly catchUp: CatchUp;
}

/** The work for a schedule now. */
export interface ScheduleTurn {
  /** Periods whose batches start, in order. */
  readonly due: readonly number[];
  /** The first period that this turn does not settle. It may be past if there were too many for one turn. */
  readonly nextMs: number | undefined;
}

/** Maximum number of periods per turn. Each costs a search of up to 1 ms, and a batch in the same transaction. */
export const SCHEDULE_CATCH_UP_MAX = 50;

/** Age from which a period is missed under `catchUp: 'none'`. Long enough for a restart. */
export const SCHEDULE_LATE_MAX_MS = 60_000;

export const SCHEDULE_NAME_LENGTH_MAX = 200;

/**
 * Returns the business key of the batch of a period.
 * @param periodMs - milliseconds since 1970.
 */
export const periodKey = (name: string, periodMs: number): string =>
  `${name}@${new Date(periodMs).toISOString()}`;

/**
 * Decides which due periods of a schedule get a batch: `all` takes each, `one` the latest, `none` the latest unless it is late.
 */
export function scheduleTurn(state: ScheduleState): ScheduleTurn {
  const { periods, nextMs, nowMs, catchUp } = state;
  if (nextMs === undefined || nextMs > nowMs) return { due: [], nextMs };
  if (catchUp === 'all') return everyPeriod(state, nextMs);
  const latest = Math.max(nextMs, periods.until(nowMs) ?? nextMs);
  const isTaken = catchUp === 'one' || nowMs - latest <= SCHEDULE_LATE_MAX_MS;
  return { due: isTaken ? [latest] : [], nextMs: periods.after(nowMs) };
}

function everyPeriod({ periods, nowMs }: ScheduleState, firstMs: number): ScheduleTurn {
  const due: number[] = [];
  let nextMs: number | undefined = firstMs;
  while (nextMs !== undefined && nextMs <= nowMs && due.length < SCHEDULE_CATCH_UP_MAX) {
    due.push(nextMs);
    nextMs = periods.after(nextMs);
  }
  return { due, nextMs };
}
