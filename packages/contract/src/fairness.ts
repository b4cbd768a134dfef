import { z } from 'zod';
import { amount, GIVEN_LIMITS, GroupRef, LIMITS, PAGE, TenantRef } from './bulk-fields.js';
import { count, time } from './fields.js';

const share = z.number().min(0).max(1);

/** A fairness unit. What there is not is null. */
export const TenantBody = z.object({
  id: z.string(),
  ...LIMITS,
  groups: count.describe('That have not ended.'),
  pending: count,
  inFlight: count,
  served: amount.describe('Cost of the jobs that were started since it is known.'),
  servedPerSecond: amount.describe('The same per second, over the last seconds.'),
});
/** A fairness unit. */
export type TenantBody = z.infer<typeof TenantBody>;

/** What `PATCH` of a fairness unit changes; null takes a limit away. */
export const TenantChangeRequest = z
  .strictObject({
    weight: GIVEN_LIMITS.weight.optional(),
    rps: GIVEN_LIMITS.rps.nullable().optional(),
    burst: GIVEN_LIMITS.burst.nullable().optional(),
    concurrency: GIVEN_LIMITS.concurrency.nullable().optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), 'must change something');

/** Whose shares. */
export const FairnessQuery = z.strictObject({
  limit: PAGE.limit.describe('At most so many tenants, and so many groups.'),
  tenantId: TenantRef.optional().describe('Only this fairness unit.'),
});

/** Who gets which share. */
export const FairnessBody = z.object({
  tenants: z
    .array(
      TenantBody.extend({
        share: share.describe('Part of all cost that was served in the last seconds.'),
        fairShare: share.describe('Part that its weight is entitled to among those who want something now.'),
      }),
    )
    .describe('The busiest first.'),
  groups: z
    .array(
      z.object({
        groupId: z.string(),
        tenantId: z.string(),
        weight: z.number(),
        priorityLevel: z.string(),
        pending: count,
        inFlight: count,
        settledPerSecond: amount,
        share: share.describe(
          "The tenant's share, divided among its groups shown here by the jobs that each ended in the last seconds.",
        ),
        fairShare: share.describe(
          "The tenant's fair share, divided among those of its groups shown here that want something, by weight and priority.",
        ),
      }),
    )
    .describe('Groups that have not ended, newest first.'),
  groupsComplete: z
    .boolean()
    .describe(
      'false: there are more groups than were looked at; the parts of groups are then among those shown.',
    ),
});
/** Who gets which share. */
export type FairnessBody = z.infer<typeof FairnessBody>;

/** The queues of the engine as they are now. */
export const QueuesBody = z.object({
  tenants: count,
  groups: count.describe('With waiting jobs.'),
  parkedGroups: count.describe('Those of them that wait for a rate slot.'),
  lane: count.describe('Jobs in the lanes of all groups.'),
  ready: count,
  readyBound: amount.describe('The most that ready may hold now.'),
  nonReady: count,
  nonReadyByReason: z.record(z.string(), count),
  inFlight: count,
  deadLetters: count,
  liveSlots: count.describe('Worker slots of live instances.'),
  waitingSlots: count.describe('Those of them that wait for a job.'),
  startsPerSecond: amount,
  oldestWaitingMs: amount.describe(
    'How long the job has waited that has waited longest of those first in line.',
  ),
  congestionRates: z
    .record(z.string(), z.number())
    .describe('Starts per second that each resource is called with at most now.'),
});
/** The queues of the engine as they are now. */
export type QueuesBody = z.infer<typeof QueuesBody>;

/** Whose congestion. */
export const CongestionQuery = z.strictObject({
  groupId: GroupRef.optional().describe('Tells of this group too, while it has not ended.'),
  history: z
    .enum(['true', 'false'])
    .default('true')
    .describe('false: how it is now is enough; every history is empty then.'),
});

const limit = z.number().nullable().describe('Per second; null: no limit.');
const point = { at: time, rate: amount, limit, throttles: count };
const slowness = {
  rate: amount.describe('Per second, now.'),
  limit,
  frozenForMs: amount.describe('For how long it may not be called.'),
  throttles: count,
  throttlesPerJob: amount,
};

/** How called services hold work back. */
export const CongestionBody = z.object({
  resources: z.array(
    z.object({
      resource: z.string(),
      ...slowness,
      concurrency: z.number().nullable().describe('Calls at once; null: no limit.'),
      starts: count.describe('Calls.'),
      history: z.array(z.object({ ...point, concurrency: z.number().nullable() })).describe('Oldest first.'),
    }),
  ),
  group: z
    .object({
      groupId: z.string(),
      ...slowness,
      level: z.enum(['NONE', 'LOW', 'MODERATE', 'HIGH', 'CRITICAL']),
      nonReadyCount: count,
      lastBackoffMs: amount,
      history: z
        .array(z.object({ ...point, nonReadyCount: count, backoffMs: amount }))
        .describe('Oldest first; begins with the first throttle.'),
    })
    .nullable()
    .describe('null unless it was asked for.'),
});
/** How called services hold work back. */
export type CongestionBody = z.infer<typeof CongestionBody>;
