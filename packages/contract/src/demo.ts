import { z } from 'zod';

/** What a demo may be asked for. */
export const DemoRequest = z.strictObject({
  seconds: z.int().min(10).max(600).default(60).describe('How long it brings work.'),
  whaleJobs: z.int().min(100).max(20_000).default(5_000).describe('Jobs of the one large tenant.'),
  tenants: z.int().min(1).max(20).default(6).describe('Small tenants that come and go.'),
});
/** What a demo may be asked for. */
export type DemoRequest = z.infer<typeof DemoRequest>;

/** A demo that runs. */
export const DemoBody = z.object({
  run: z.string().describe('Its name; the ids of its groups and batches begin with it.'),
  created: z.boolean().describe('false: it ran already, and what was asked for was not looked at.'),
  startedAt: z.iso.datetime(),
  endsAt: z.iso.datetime().describe('When it brings no more work, and ends what is left of it.'),
  groupId: z.string().describe('The group of the large tenant.'),
});
/** A demo that runs. */
export type DemoBody = z.infer<typeof DemoBody>;

const count = z.int().min(0);

/** What was ended with a demo. */
export const DemoStopped = z.object({
  groups: count.describe('Groups that were cancelled.'),
  batches: count.describe('Batches that were aborted.'),
  operations: count.describe('Operations that were cancelled.'),
});
/** What was ended with a demo. */
export type DemoStopped = z.infer<typeof DemoStopped>;
