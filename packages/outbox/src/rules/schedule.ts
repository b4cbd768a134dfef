import { Cron } from 'croner';
import type { Schedule } from '../model.js';

/** What becomes of periods that passed while nobody could start their batches. */
export type CatchUp = Schedule['catchUp'];

/** When a schedule is due. */
export interface ScheduleTiming {
  /** Five fields, or six with seconds first, or seven with the year last. */
  readonly cron: string;
  /** IANA name. */
  readonly timeZone: string;
}

/** A schedule and the time, all in milliseconds since 1970. */
export interface ScheduleState extends ScheduleTiming {
  /** The first period that was not looked at yet; undefined when none ever comes. */
  readonly nextMs: number | undefined;
  /** Of the database. */
  readonly nowMs: number;
  readonly catchUp: CatchUp;
}

/** What to do for a schedule now. */
export interface ScheduleTurn {
  /** The periods whose batches start, in their order. */
  readonly periods: readonly number[];
  /** The first period after all that are settled by this turn; it may be past, when there were more than one turn may have. */
  readonly nextMs: number | undefined;
}

/** The most periods of one turn: each costs a search of up to a millisecond here, and a batch in the same transaction. */
export const SCHEDULE_CATCH_UP_MAX = 50;

/** With `catchUp: 'none'` a period that is later than this is missed. Long enough for a restart. */
export const SCHEDULE_LATE_MAX_MS = 60_000;

/** The longest name of a schedule. */
export const SCHEDULE_NAME_LENGTH_MAX = 200;

const CRON_LENGTH_MAX = 200;
const TIME_ZONE_LENGTH_MAX = 100;
const SECOND_MS = 1_000;

/**
 * Why a schedule cannot be used.
 * @param cron - anything.
 * @param timeZone - anything.
 * @returns what is wrong, or undefined.
 */
export function timingProblem(cron: unknown, timeZone: unknown): string | undefined {
  if (typeof timeZone !== 'string' || timeZone.length > TIME_ZONE_LENGTH_MAX || !isTimeZone(timeZone))
    return "its timeZone must be a name such as 'UTC' or 'Europe/Berlin', known to this process";
  if (typeof cron !== 'string' || cron.length > CRON_LENGTH_MAX)
    return `its cron must be a text of up to ${CRON_LENGTH_MAX} characters, such as '30 2 * * *'`;
  try {
    if (parsed({ cron, timeZone }).getOnce() === null) return undefined;
    return "its cron must be an expression such as '30 2 * * *', not one point in time";
  } catch (error) {
    return `its cron is no expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * The business key of the batch of a period.
 * @param name - of the schedule.
 * @param periodMs - milliseconds since 1970.
 */
export const periodKey = (name: string, periodMs: number): string =>
  `${name}@${new Date(periodMs).toISOString()}`;

/**
 * The first period after a time. DST as Vixie cron has it: one fixed time of day runs once a day, also when the clocks skip it (then at the first
 * time after the gap) or show it twice (then the first time); with a step, list or range the clocks' skipped times are left out and repeated ones run
 * twice, so that the distance stays even.
 * @param timing - without problem.
 * @param afterMs - milliseconds since 1970.
 * @returns undefined when there is none.
 */
export const periodAfter = (timing: ScheduleTiming, afterMs: number): number | undefined =>
  parsed(timing).nextRun(new Date(afterMs))?.getTime();

/**
 * Which periods of a schedule get a batch now. Of the periods that are due, `all` takes each, `one` the latest, and `none` the latest if it is not late.
 * @param state - see ScheduleState.
 */
export function scheduleTurn(state: ScheduleState): ScheduleTurn {
  const { nextMs, nowMs, catchUp } = state;
  if (nextMs === undefined || nextMs > nowMs) return { periods: [], nextMs };
  if (catchUp === 'all') return everyPeriod(state, nextMs);
  const latest = Math.max(nextMs, periodUntil(state, nowMs) ?? nextMs);
  const isTaken = catchUp === 'one' || nowMs - latest <= SCHEDULE_LATE_MAX_MS;
  return { periods: isTaken ? [latest] : [], nextMs: periodAfter(state, nowMs) };
}

function everyPeriod(timing: ScheduleState, firstMs: number): ScheduleTurn {
  const periods: number[] = [];
  let nextMs: number | undefined = firstMs;
  while (nextMs !== undefined && nextMs <= timing.nowMs && periods.length < SCHEDULE_CATCH_UP_MAX) {
    periods.push(nextMs);
    nextMs = periodAfter(timing, nextMs);
  }
  return { periods, nextMs };
}

/** The latest period that is not after a time; croner looks before the whole second it is given. */
const periodUntil = (timing: ScheduleTiming, untilMs: number): number | undefined =>
  parsed(timing)
    .previousRuns(1, new Date((Math.floor(untilMs / SECOND_MS) + 1) * SECOND_MS))[0]
    ?.getTime();

/** Without a function it sets no timer. */
const parsed = ({ cron, timeZone }: ScheduleTiming): Cron => new Cron(cron, { timezone: timeZone });

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
