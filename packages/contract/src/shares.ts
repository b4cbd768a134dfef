import { z } from 'zod';
import { amount, bulkPaging, changesSomething, count, limitChanges, limitsBody, time } from './fields.js';
import { congestion } from './groups.js';
import { BULK } from './jobs.js';
import { GroupRef, TenantRef } from './params.js';
import { defineRoutes } from './route.js';

const share = z.number().min(0).max(1);

/** A fairness unit. A missing value is null. */
export const TenantBody = z.object({
  id: z.string(),
  ...limitsBody,
  groups: count.describe('Groups that have not ended.'),
  pending: count,
  inFlight: count,
  served: amount.describe('Cost of all its jobs started since the unit is known.'),
  servedPerSecond: amount.describe('Cost of jobs started per second, over the last seconds.'),
});
export type TenantBody = z.infer<typeof TenantBody>;

/** A change of a fairness unit; null removes a limit. */
export const TenantChangeRequest = z
  .strictObject(limitChanges)
  .refine(changesSomething, 'must change something');

/** The shares of tenants and groups. */
export const FairnessBody = z.object({
  tenants: z
    .array(
      TenantBody.extend({
        share: share.describe('Its part of all cost started in the last seconds.'),
        fairShare: share.describe('The part that its weight entitles it to, among units with work.'),
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
          "The tenant's share, divided among its groups listed here by the jobs each completed in the last seconds.",
        ),
        fairShare: share.describe(
          "The tenant's fair share, divided among its groups listed here that have work, by weight and priority.",
        ),
      }),
    )
    .describe('Groups that have not ended, newest first.'),
  groupsComplete: z
    .boolean()
    .describe('false: more groups exist than were read. The shares of groups are then among those listed.'),
});
export type FairnessBody = z.infer<typeof FairnessBody>;

const limit = z.number().nullable().describe('Per second; null means no limit.');
const point = { at: time, rate: amount, limit, throttles: count };
const slowness = {
  rate: amount.describe('Per second, now.'),
  limit,
  frozenForMs: amount.describe('Time until it may be called again.'),
  throttles: count,
  throttlesPerJob: amount,
};

/** The congestion of called services. */
export const CongestionBody = z.object({
  resources: z.array(
    z.object({
      resource: z.string(),
      ...slowness,
      concurrency: z.number().nullable().describe('Calls at the same time; null means no limit.'),
      starts: count.describe('Calls started.'),
      history: z.array(z.object({ ...point, concurrency: z.number().nullable() })).describe('Oldest first.'),
    }),
  ),
  group: z
    .object({
      groupId: z.string(),
      ...slowness,
      ...congestion,
      history: z
        .array(z.object({ ...point, nonReadyCount: count, backoffMs: amount }))
        .describe('Oldest first, from the first throttle.'),
    })
    .nullable()
    .describe('null unless groupId is set.'),
});
export type CongestionBody = z.infer<typeof CongestionBody>;

export const SHARE_ROUTES = defineRoutes(BULK, {
  getTenant: {
    summary: 'Get a fairness unit',
    description: 'Its weight, limits and queued work. A key that belongs to a tenant sees its own unit only.',
    ok: TenantBody,
    fails: ['TENANT_NOT_FOUND'],
  },
  changeTenant: {
    tenancy: 'shared',
    audited: true,
    summary: 'Change the weight and limits of a fairness unit',
    description:
      'The unit may be new. Applies at once, to queued jobs too. null removes a limit. Returns the changed unit.',
    role: 'admin',
    body: TenantChangeRequest,
    ok: TenantBody,
  },
  getFairness: {
    summary: 'Get the shares of tenants and groups',
    description:
      'Shares beside fair shares. The shares of tenants are measured: the cost of jobs started in the last seconds, for the 1,000 busiest. ' +
      'The shares of groups are computed from those of their tenant, without groups that ended in these seconds. ' +
      'A key that belongs to a tenant sees its own only.',
    query: z.strictObject({
      limit: bulkPaging.limit.describe('Maximum number of tenants, and of groups.'),
      tenantId: TenantRef.optional().describe('Only this fairness unit.'),
    }),
    ok: FairnessBody,
    fails: ['TENANT_NOT_FOUND'],
  },
  getCongestion: {
    tenancy: 'shared',
    summary: 'Get the congestion of called services',
    description:
      'Every service that is configured or was called, now and in the past hour, and one group if groupId is set. ' +
      'GROUP_NOT_FOUND: also for a group that has ended.',
    query: z.strictObject({
      groupId: GroupRef.optional().describe('Includes this group, while it has not ended.'),
      history: z.enum(['true', 'false']).default('true').describe('false: every history is empty.'),
    }),
    ok: CongestionBody,
    fails: ['GROUP_NOT_FOUND'],
  },
});
