import type { Schedule } from '../model.js';

/** What becomes of periods that passed while nobody could start their batches. */
export type CatchUp = Schedule['catchUp'];

/** The periods of a schedule, in milliseconds since 1970. */
export interface Periods {
  /** The first one after a time; undefined when there is none. */
  after(ms: number): number | undefined;
  /** The latest one that is not after a time; undefined when there is none. */
  until(ms: number): number | undefined;
}

/** A schedule and the time, all in milliseconds since 1970. */
export interface ScheduleState {
  readonly periods: Periods;
  /** The first period that is not settled yet; undefined when none ever comes. */
  readonly nextMs: number | undefined;
  /** Of the database. */
  readonly nowMs: number;
  readonly catchUp: CatchUp;
}

/** What to do for a schedule now. */
export interface ScheduleTurn {
  /** The periods whose batches start, in their order. */
  readonly due: readonly number[];
  /** The first period after all that are settled by this turn; it may be past, when there were more than one turn may have. */
  readonly nextMs: number | undefined;
}

/** The most periods of one turn: each costs a search of up to a millisecond here, and a batch in the same transaction. */
export const SCHEDULE_CATCH_UP_MAX = 50;

/** With `catchUp: 'none'` a period that is later than this is missed. Long enough for a restart. */
export const SCHEDULE_LATE_MAX_MS = 60_000;

/** The longest name of a schedule. */
export const SCHEDULE_NAME_LENGTH_MAX = 200;

/**
 * The business key of the batch of a period.
 * @param periodMs - milliseconds since 1970.
 */
export const periodKey = (name: string, periodMs: number): string =>
  `${name}@${new Date(periodMs).toISOString()}`;

/**
 * Which periods of a schedule get a batch now. Of the periods that are due, `all` takes each, `one` the latest, and `none` the latest if it is not late.
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
