import { z } from 'zod';
import {
  amount,
  GIVEN_LIMITS,
  GroupRef,
  givenTime,
  LIMITS,
  nextCursor,
  PAGE,
  TenantRef,
} from './bulk-fields.js';
import { count, time } from './fields.js';
import { JobRequest } from './jobs.js';

/** Where a group is. */
export const GroupStatusName = z
  .enum(['CREATED', 'DISPATCHED', 'RUNNING', 'AGGREGATING', 'COMPLETED', 'FAILED', 'CANCELLED'])
  .describe(
    'COMPLETED, FAILED and CANCELLED are ends; only dead letters that are sent back open another round.',
  );
/** Where a group is. */
export type GroupStatusName = z.infer<typeof GroupStatusName>;

const priorityLevel = z
  .enum(['high', 'normal', 'low'])
  .describe('A weight among the groups of a tenant: low is never starved.');
const timeoutMs = z.int().min(1).describe('How long it may make no progress before it fails.');

/** One bulk action, as a caller defines it. Unknown fields are refused. */
export const GroupRequest = z.strictObject({
  id: GroupRef,
  tenant: z
    .string()
    .max(128)
    .optional()
    .describe("Whose namespace the id lives in; the caller's own unless given."),
  tenantId: TenantRef.optional().describe(
    'The fairness unit; of a group with a tenant it is that tenant, else the group itself unless given.',
  ),
  weight: GIVEN_LIMITS.weight.optional(),
  priorityLevel: priorityLevel.optional(),
  rps: GIVEN_LIMITS.rps.optional(),
  burst: GIVEN_LIMITS.burst.optional(),
  concurrency: GIVEN_LIMITS.concurrency.optional(),
  timeoutMs: timeoutMs.optional(),
  deadline: givenTime.optional().describe('When it stops being wanted.'),
});
/** One bulk action, as a caller defines it. */
export type GroupRequest = z.infer<typeof GroupRequest>;

/** A group with its jobs, as `POST` takes it. */
export const SubmitGroupRequest = z.strictObject({
  group: GroupRequest,
  jobs: z
    .array(JobRequest)
    .optional()
    .describe('All of them, or the first; more may follow while the group is open.'),
  seal: z
    .boolean()
    .optional()
    .describe(
      'Whether these are all jobs: the group completes when they are done. true unless given, false without jobs.',
    ),
});
/** A group with its jobs, as `POST` takes it. */
export type SubmitGroupRequest = z.infer<typeof SubmitGroupRequest>;

/** What `POST` of a group may be asked beside its body. */
export const SubmitGroupQuery = z.strictObject({
  seal: z
    .enum(['true', 'false'])
    .optional()
    .describe('Of a body of lines: false leaves the group open for more jobs. A JSON body says it itself.'),
});

/** How far a group is. done + pending + inFlight = registered. */
export const ProgressBody = z.object({
  total: count,
  registered: count,
  done: count.describe('success + failed + cancelled.'),
  success: count,
  failed: count,
  cancelled: count,
  pending: count.describe('All that wait, nonReady among them.'),
  inFlight: count,
  nonReady: count.describe('Waiting for a time: a back-off, a rate, their notBefore.'),
  progressPercent: z.number().min(0).max(100).describe('100 only when every job is done.'),
  status: GroupStatusName,
  round: z.int().min(1),
  etaMs: amount.nullable().describe('Until it is done at the present speed; null: not known.'),
  congestion: z.object({
    level: z.enum(['NONE', 'LOW', 'MODERATE', 'HIGH', 'CRITICAL']),
    nonReadyCount: count,
    lastBackoffMs: amount,
  }),
});
/** How far a group is. */
export type ProgressBody = z.infer<typeof ProgressBody>;

/** How far a group was at one time. */
export const ProgressPoint = z.object({
  at: time,
  done: count.describe('success + failed + cancelled.'),
  success: count,
  failed: count,
  inFlight: count,
  registered: count,
});
/** How far a group was at one time. */
export type ProgressPoint = z.infer<typeof ProgressPoint>;

/** How far a group was from its start until now. */
export const GroupProgressBody = z.object({
  groupId: z.string(),
  points: z
    .array(ProgressPoint)
    .min(2)
    .describe(
      'Oldest first: its start, then what was written down at times, then the group as it is now or as it ended. ' +
        'Written down every 10 seconds where something changed, and less often the longer the group takes; a point holds until the next one.',
    ),
});
/** How far a group was from its start until now. */
export type GroupProgressBody = z.infer<typeof GroupProgressBody>;

/** A group. What there is not is null. */
export const GroupBody = z.object({
  id: z.string(),
  tenant: z.string().describe("'' for none."),
  tenantId: z.string().describe('The fairness unit.'),
  ...LIMITS,
  priorityLevel,
  timeoutMs: amount,
  deadline: time.nullable(),
  traceparent: z.string().nullable(),
  status: GroupStatusName,
  sealed: z.boolean().describe('Takes no more jobs.'),
  paused: z.boolean(),
  round: z.int().min(1),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  progressAt: time.describe('The last registration, start or end of a job.'),
  settledPerSecond: amount.describe('Jobs that ended, measured over the last seconds.'),
  throttled: count.describe('Tries that the called service refused for now.'),
  rateDenied: count.describe('Tries for which there was no token.'),
  progress: ProgressBody,
});
/** A group. What there is not is null. */
export type GroupBody = z.infer<typeof GroupBody>;

/** What became of a bulk action that was handed in. */
export const SubmitGroupResponse = z.object({
  groupId: z.string(),
  created: z.boolean().describe('false: the group was there already, with the same definition.'),
  added: count.describe('Jobs that are new.'),
  known: count.describe('Jobs whose ids were registered before: nothing happened to them.'),
  registered: count.describe('Jobs of the group now.'),
  sealed: z.boolean(),
  progress: ProgressBody,
});
/** What became of a bulk action that was handed in. */
export type SubmitGroupResponse = z.infer<typeof SubmitGroupResponse>;

/** What a list of groups may be asked. */
export const GroupQuery = z.strictObject({
  status: GroupStatusName.optional(),
  tenant: z.string().max(128).optional().describe("Only groups of this tenant's namespace."),
  tenantId: TenantRef.optional().describe('Only groups of this fairness unit.'),
  ...PAGE,
});

/** A part of a list of groups, newest first. */
export const GroupPage = z.object({ items: z.array(GroupBody), cursor: nextCursor });
/** A part of a list of groups. */
export type GroupPage = z.infer<typeof GroupPage>;

/** What `PATCH` of a group changes; null takes a limit away. */
export const GroupChangeRequest = z
  .strictObject({
    weight: GIVEN_LIMITS.weight.optional(),
    priorityLevel: priorityLevel.optional(),
    rps: GIVEN_LIMITS.rps.nullable().optional(),
    burst: GIVEN_LIMITS.burst.nullable().optional(),
    concurrency: GIVEN_LIMITS.concurrency.nullable().optional(),
    timeoutMs: timeoutMs.optional(),
    deadline: givenTime.nullable().optional(),
    paused: z
      .boolean()
      .optional()
      .describe('true: none of its jobs starts until it is false again; those that run go on.'),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), 'must change something');
/** What `PATCH` of a group changes. */
export type GroupChangeRequest = z.infer<typeof GroupChangeRequest>;

/** The answer to the end of registration, or to a cancellation. */
export const GroupChangeResponse = z.object({
  changed: z.boolean().describe('false: it was so already, or had ended.'),
  group: GroupBody,
});
/** The answer to the end of registration, or to a cancellation. */
export type GroupChangeResponse = z.infer<typeof GroupChangeResponse>;

/** The end of the registration. */
export const SealRequest = z.strictObject({
  total: count.optional().describe('Refused unless the group has so many jobs.'),
});

/** Which result. */
export const ResultQuery = z.strictObject({
  round: z.coerce.number().int().min(1).optional().describe('The last one that ended unless given.'),
});

const statistics = { count, sum: z.number(), min: z.number(), max: z.number() };

/** What came of a group in one round. What there is not is null. */
export const GroupResultBody = z.object({
  groupId: z.string(),
  round: z.int().min(1),
  status: GroupStatusName,
  code: z.string().nullable().describe('Why it failed.'),
  message: z.string().nullable(),
  total: count,
  success: count,
  failed: count,
  cancelled: count,
  successRate: z.number().min(0).max(1).describe('success / (success + failed), 1 for an empty group.'),
  averageDurationMs: amount,
  durations: z
    .object({ ...statistics, p50: amount, p95: amount, p99: amount })
    .describe('Of tries, in milliseconds.'),
  failedByCode: z.record(z.string(), count),
  failedJobs: z
    .array(z.object({ jobId: z.string(), code: z.string(), message: z.string() }))
    .describe('The first of them.'),
  data: z.unknown().describe('What its aggregator made of the results; null: nothing.'),
  numbers: z.record(z.string(), z.object(statistics)).describe('By the names that aggregators gave them.'),
  resultsDropped: count.describe('Results that were too large to be kept: data is without them.'),
  startedAt: time.nullable(),
  endedAt: time,
  durationMs: amount,
});
/** What came of a group in one round. */
export type GroupResultBody = z.infer<typeof GroupResultBody>;
