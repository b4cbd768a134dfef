import { z } from 'zod';
import { time } from './fields.js';

const rate = z.number().min(0);
/** Not always whole: milliseconds are among them. */
const amount = z.number().min(0);

/** The rings that series are kept in: by the seconds of a point, how many points. */
export const STAT_RINGS = { 10: 360, 60: 1_440 } as const;
/** Seconds between two points. */
export type StatStep = keyof typeof STAT_RINGS;

/**
 * Reads a moment as a query writes it.
 * @param text - ISO 8601 with a zone, or milliseconds since 1970.
 * @returns milliseconds since 1970; undefined for what is none.
 */
export function momentOf(text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const { success } = z.iso.datetime({ offset: true }).safeParse(text);
  return success ? Date.parse(text) : undefined;
}

const moment = z
  .string()
  .max(40)
  .refine((text) => momentOf(text) !== undefined, 'must be a time in ISO 8601, or milliseconds since 1970');

/** Which part of the series. */
export const StatsQuery = z.strictObject({
  from: moment
    .optional()
    .describe(
      'ISO 8601 or milliseconds since 1970; 15 minutes before to unless given. Earlier than the ring: its beginning.',
    ),
  to: moment.optional().describe('ISO 8601 or milliseconds since 1970; now unless given.'),
  step: z
    .enum(['10', '60'])
    .default('10')
    .describe('Seconds between two points: 10 are kept for an hour, 60 for a day.'),
});

const Percentiles = z
  .object({ p50: amount, p95: amount, p99: amount })
  .nullable()
  .describe('Milliseconds; null: there was nothing to measure.');

/** What happened in the time from one point to the next, in all instances; and what the stores held then. */
export const StatPoint = z.object({
  at: time.describe('When its time begins.'),
  instances: z.int().min(1).describe('How many have reported.'),
  jobs: z.object({
    donePerSecond: rate,
    failedPerSecond: rate.describe('For good.'),
    retriedPerSecond: rate,
    timedOutPerSecond: rate,
    deadLettersPerSecond: rate,
  }),
  waitMs: Percentiles.describe('From when a bulk job could have started to when it did; null: none started.'),
  runMs: Percentiles.describe('How long tries of bulk jobs took; null: none ended.'),
  tasks: z
    .object({
      donePerSecond: rate,
      skippedPerSecond: rate,
      retriedPerSecond: rate,
      failedPerSecond: rate,
      lostPerSecond: rate,
      returnedPerSecond: rate,
    })
    .describe('Tries of tasks of batches.'),
  batches: z.object({ donePerSecond: rate, failedPerSecond: rate, abortedPerSecond: rate }),
  operations: z.object({
    submittedPerSecond: rate,
    fastPerSecond: rate.describe('Answered with their outcome.'),
    convertedPerSecond: rate.describe('Answered with a status URL.'),
    endedPerSecond: rate,
    failedPerSecond: rate.describe('Those of them that FAILED.'),
  }),
  latencyMs: Percentiles.describe('From submit to its answer; null: there was none.'),
  queues: z
    .object({
      lane: amount,
      ready: amount,
      nonReady: amount,
      inFlight: amount,
      deadLetters: amount,
      oldestWaitingMs: amount,
      tenants: amount,
      liveSlots: amount,
      waitingSlots: amount,
      startsPerSecond: rate,
    })
    .nullable()
    .describe('Of bulk jobs; null: nobody could look.'),
  backlog: z
    .object({ ready: amount, processing: amount, oldestReadyAgeMs: amount })
    .nullable()
    .describe('Tasks of batches; null: nobody could look.'),
  openOperations: amount.nullable().describe('null: nobody could look.'),
});
/** See the schema. */
export type StatPoint = z.infer<typeof StatPoint>;

/** A part of the series. */
export const StatsBody = z.object({
  from: time.describe('Of the first point.'),
  to: time.describe('Where the time of the last point ends.'),
  step: z.int(),
  points: z.array(StatPoint.nullable()).describe('One for each step; null where nobody has reported.'),
});
/** A part of the series. */
export type StatsBody = z.infer<typeof StatsBody>;
