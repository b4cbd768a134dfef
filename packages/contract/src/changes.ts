import { z } from 'zod';
import { time } from './fields.js';
import { StatPoint } from './stats.js';

const { queues, backlog, openOperations } = StatPoint.shape;

/** How everything stands. */
export const ChangesSnapshot = z.object({
  at: time,
  queues,
  backlog,
  openOperations,
});
/** How everything stands. */
export type ChangesSnapshot = z.infer<typeof ChangesSnapshot>;

/** Names of the events of the stream. */
export const CHANGES_EVENTS = ['hello', 'changes'] as const;

const snapshot = ChangesSnapshot.nullable().describe(
  'null: for keys of a tenant, and while nobody could look.',
);

/** The first event of a stream. */
export const HelloEvent = z.object({ at: time, snapshot });
/** The first event of a stream. */
export type HelloEvent = z.infer<typeof HelloEvent>;

/** What has changed since the event before. Hints: what a list says is the truth. */
export const ChangesEvent = z.object({
  at: time,
  groups: z.array(z.object({ id: z.string(), status: z.string() })),
  batches: z.array(z.string()).describe('Ids.'),
  operations: z.array(z.string()).describe('Ids.'),
  deadLetters: z.boolean().describe('There are new dead letters of bulk jobs: retries are spent.'),
  more: z.boolean().describe('More has changed than is listed: look at everything again.'),
  snapshot,
});
/** What has changed since the event before. */
export type ChangesEvent = z.infer<typeof ChangesEvent>;

/** An event of the stream. */
export const WatchEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), data: HelloEvent }),
  z.object({ type: z.literal('changes'), data: ChangesEvent }),
]);
/** An event of the stream. */
export type WatchEvent = z.infer<typeof WatchEvent>;
