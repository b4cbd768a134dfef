import { Cron } from 'croner';
import type { Periods } from './rules/schedule.js';

/** The timing of a schedule. */
export interface ScheduleTiming {
  /** Five fields, or six with seconds first, or seven with the year last. */
  readonly cron: string;
  /** IANA name. */
  readonly timeZone: string;
}

const CRON_LENGTH_MAX = 200;
const TIME_ZONE_LENGTH_MAX = 100;
const SECOND_MS = 1_000;

/** Returns what is wrong with the timing of a schedule, or undefined. */
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
 * Returns the periods of a cron expression. Clock changes work as in Vixie cron. One fixed time of day runs once a day, also
 * when the clocks skip it (at the first time after the gap) or show it twice (the first time). With a step, list or range,
 * skipped times are left out and repeated ones come twice, so that the distance stays even.
 * @param timing - valid.
 */
export function cronPeriods(timing: ScheduleTiming): Periods {
  const cron = parsed(timing);
  return {
    after: (ms) => cron.nextRun(new Date(ms))?.getTime(),
    // croner searches before the whole second that it gets.
    until: (ms) => cron.previousRuns(1, new Date((Math.floor(ms / SECOND_MS) + 1) * SECOND_MS))[0]?.getTime(),
  };
}

/** Without a function, croner sets no timer. */
const parsed = ({ cron, timeZone }: ScheduleTiming): Cron => new Cron(cron, { timezone: timeZone });

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
