import { z } from 'zod';
import { amount, time } from './fields.js';
import { defineRoutes, eventStream } from './route.js';

/** The rings of statistics: seconds of a point, and number of points. */
export const STAT_RINGS = { 10: 360, 60: 1_440 } as const;
/** Seconds between two points. */
export type StatStep = keyof typeof STAT_RINGS;

/**
 * Parses a time in a query: ISO 8601 with a zone, or milliseconds since 1970. Returns milliseconds since 1970, or undefined if the text is
 * no time.
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

const Percentiles = z
  .object({ p50: amount, p95: amount, p99: amount })
  .nullable()
  .describe('Milliseconds; null without a measurement.');

/** The work of all instances between one point and the next, and the contents of the stores at that time. */
export const StatPoint = z.object({
  at: time.describe('Start of the interval.'),
  instances: z.int().min(1).describe('Number of instances that reported.'),
  jobs: z.object({
    donePerSecond: amount,
    failedPerSecond: amount.describe('Failed without another retry.'),
    retriedPerSecond: amount,
    timedOutPerSecond: amount,
    deadLettersPerSecond: amount,
  }),
  waitMs: Percentiles.describe(
    'Wait of bulk jobs from when they could start to their start; null if none started.',
  ),
  runMs: Percentiles.describe('Durations of attempts of bulk jobs; null if none ended.'),
  tasks: z
    .object({
      donePerSecond: amount,
      skippedPerSecond: amount,
      retriedPerSecond: amount,
      failedPerSecond: amount,
      lostPerSecond: amount,
      returnedPerSecond: amount,
    })
    .describe('Attempts of tasks of batches.'),
  batches: z.object({ donePerSecond: amount, failedPerSecond: amount, abortedPerSecond: amount }),
  operations: z.object({
    submittedPerSecond: amount,
    fastPerSecond: amount.describe('Answered with their outcome.'),
    convertedPerSecond: amount.describe('Answered with a status URL.'),
    endedPerSecond: amount,
    failedPerSecond: amount.describe('Of those that ended, the FAILED ones.'),
  }),
  latencyMs: Percentiles.describe('Time from submit to response; null if there was none.'),
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
      startsPerSecond: amount,
    })
    .nullable()
    .describe('Queues of bulk jobs; null if the store could not be read.'),
  backlog: z
    .object({ ready: amount, processing: amount, oldestReadyAgeMs: amount })
    .nullable()
    .describe('Tasks of batches; null if the store could not be read.'),
  openOperations: amount.nullable().describe('null if the store could not be read.'),
});
export type StatPoint = z.infer<typeof StatPoint>;

/** A part of the statistics. */
export const StatsBody = z.object({
  from: time.describe('Start of the first interval.'),
  to: time.describe('End of the last interval.'),
  step: z.int(),
  points: z.array(StatPoint.nullable()).describe('One for each step; null if no instance reported.'),
});
export type StatsBody = z.infer<typeof StatsBody>;

const { queues, backlog, openOperations } = StatPoint.shape;

/** The contents of the stores now. */
export const ChangesSnapshot = z.object({ at: time, queues, backlog, openOperations });
export type ChangesSnapshot = z.infer<typeof ChangesSnapshot>;

const snapshot = ChangesSnapshot.nullable().describe(
  'null for keys of a tenant, and if the stores could not be read.',
);

/** The first event of a stream of changes. */
export const HelloEvent = z.object({ at: time, snapshot });
export type HelloEvent = z.infer<typeof HelloEvent>;

/** The changes since the previous event. They are hints: the lists are the truth. */
export const ChangesEvent = z.object({
  at: time,
  groups: z.array(z.object({ id: z.string(), status: z.string() })),
  batches: z.array(z.string()).describe('Ids.'),
  operations: z.array(z.string()).describe('Ids.'),
  deadLetters: z.boolean().describe('True if there are new dead letters of bulk jobs.'),
  more: z.boolean().describe('True if not all changes are listed: read everything again.'),
  snapshot,
});
export type ChangesEvent = z.infer<typeof ChangesEvent>;

/** An event of the stream of changes. */
export const WatchEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), data: HelloEvent }),
  z.object({ type: z.literal('changes'), data: ChangesEvent }),
]);

const STATS = { tag: 'Fleet', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] } as const;

export const STATS_ROUTES = defineRoutes(STATS, {
  getStats: {
    summary: 'Get statistics of the last hours',
    description:
      'The work of all instances and the contents of the stores, every 10 seconds for an hour or every minute for a day.',
    tenancy: 'shared',
    query: z.strictObject({
      from: moment
        .optional()
        .describe(
          'ISO 8601 or milliseconds since 1970 (15 minutes before to). At the earliest the start of the ring.',
        ),
      to: moment.optional().describe('ISO 8601 or milliseconds since 1970 (now).'),
      step: z
        .enum(['10', '60'])
        .default('10')
        .describe('Seconds between two points: 10 are kept for an hour, 60 for a day.'),
    }),
    ok: StatsBody,
  },
  watchChanges: {
    summary: 'Watch all changes',
    description:
      'Server-sent events: hello at once, then changes, about one a second while something changes; data is JSON. ' +
      'A slow client gets fewer and larger events. A key that belongs to a tenant gets changes of that tenant.',
    tenancy: 'own',
    streams: true,
    ok: { 200: eventStream(WatchEvent) },
  },
});
