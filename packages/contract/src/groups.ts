import { z } from 'zod';
import {
  amount,
  bulkCursor,
  bulkPaging,
  changesSomething,
  count,
  givenTime,
  limitChanges,
  limitFields,
  limitsBody,
  time,
} from './fields.js';
import { AddJobsResponse, BULK, JobRequest, UPLOAD_FAILS, uploadHeaders } from './jobs.js';
import { GroupRef, TenantRef } from './params.js';
import { defineRoutes, json } from './route.js';

/** The status of a group. */
export const GroupStatusName = z
  .enum(['CREATED', 'DISPATCHED', 'RUNNING', 'AGGREGATING', 'COMPLETED', 'FAILED', 'CANCELLED'])
  .describe('COMPLETED, FAILED and CANCELLED are final; only a redrive of dead letters opens another round.');

const priorityLevel = z
  .enum(['high', 'normal', 'low'])
  .describe('A weight among the groups of a tenant. low is never starved.');
const timeoutMs = z
  .int()
  .min(1)
  .describe('Group idle timeout: maximum time without progress, in milliseconds.');

/** A group to create. Unknown fields are refused. */
export const GroupRequest = z.strictObject({
  id: GroupRef,
  tenant: z.string().max(128).optional().describe("The tenant that owns the id (the caller's own)."),
  tenantId: TenantRef.optional().describe(
    'The fairness unit. For a group with a tenant it is that tenant; by default it is the group.',
  ),
  ...limitFields,
  priorityLevel: priorityLevel.optional(),
  timeoutMs: timeoutMs.optional(),
  deadline: givenTime.optional().describe('Jobs are not started after this time.'),
});
export type GroupRequest = z.infer<typeof GroupRequest>;

/** A group with its jobs, to submit. */
export const SubmitGroupRequest = z.strictObject({
  group: GroupRequest,
  jobs: z
    .array(JobRequest)
    .optional()
    .describe('All jobs, or the first ones: more can be added while the group is open.'),
  seal: z
    .boolean()
    .optional()
    .describe(
      'True if these are all jobs: the group completes when they are done (true; false without jobs).',
    ),
});

export const congestion = {
  level: z.enum(['NONE', 'LOW', 'MODERATE', 'HIGH', 'CRITICAL']),
  nonReadyCount: count,
  lastBackoffMs: amount,
};

/** The progress of a group. done + pending + inFlight = registered. */
export const ProgressBody = z.object({
  total: count,
  registered: count,
  done: count.describe('success + failed + cancelled.'),
  success: count,
  failed: count,
  cancelled: count,
  pending: count.describe('Jobs that wait, nonReady included.'),
  inFlight: count,
  nonReady: count.describe('Delayed jobs: by a backoff, a rate limit or notBefore.'),
  progressPercent: z.number().min(0).max(100).describe('100 only when every job is done.'),
  status: GroupStatusName,
  round: z.int().min(1),
  etaMs: amount.nullable().describe('Time until it is done at the present speed; null if unknown.'),
  congestion: z.object(congestion),
});
export type ProgressBody = z.infer<typeof ProgressBody>;

const recorded = { done: true, success: true, failed: true, inFlight: true, registered: true } as const;

/** The progress of a group at one time. */
export const ProgressPoint = ProgressBody.pick(recorded).extend({ at: time });
export type ProgressPoint = z.infer<typeof ProgressPoint>;

/** The progress of a group from its start until now. */
export const GroupProgressBody = z.object({
  groupId: z.string(),
  points: z
    .array(ProgressPoint)
    .min(2)
    .describe(
      'Oldest first: the start, the recorded points, then the group now or at its end. ' +
        'Recorded every 10 seconds if something changed, and less often the longer the group runs. A point holds until the next one.',
    ),
});
export type GroupProgressBody = z.infer<typeof GroupProgressBody>;

/** A group. A missing value is null. */
export const GroupBody = z.object({
  id: z.string(),
  tenant: z.string().describe("'' for no tenant."),
  tenantId: z.string().describe('The fairness unit.'),
  ...limitsBody,
  priorityLevel,
  timeoutMs: amount,
  deadline: time.nullable(),
  traceparent: z.string().nullable(),
  status: GroupStatusName,
  sealed: z.boolean().describe('True if it accepts no more jobs.'),
  paused: z.boolean(),
  round: z.int().min(1),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  progressAt: time.describe('The last time a job was added, started or ended.'),
  settledPerSecond: amount.describe('Jobs completed per second, measured over the last seconds.'),
  throttled: count.describe('Attempts that the called service refused for now.'),
  rateDenied: count.describe('Attempts without a token of the rate limit.'),
  progress: ProgressBody,
});
export type GroupBody = z.infer<typeof GroupBody>;

/** The response to a submitted group. */
export const SubmitGroupResponse = AddJobsResponse.extend({
  created: z.boolean().describe('false: the group existed with the same definition.'),
  sealed: z.boolean(),
  progress: ProgressBody,
});
export type SubmitGroupResponse = z.infer<typeof SubmitGroupResponse>;

/** A page of groups, newest first. */
export const GroupPage = z.object({ items: z.array(GroupBody), cursor: bulkCursor });
export type GroupPage = z.infer<typeof GroupPage>;

/** A change of a group; null removes a limit. */
export const GroupChangeRequest = z
  .strictObject({
    ...limitChanges,
    priorityLevel: priorityLevel.optional(),
    timeoutMs: timeoutMs.optional(),
    deadline: givenTime.nullable().optional(),
    paused: z
      .boolean()
      .optional()
      .describe('true: no further job starts until it is false again. Running jobs continue.'),
  })
  .refine(changesSomething, 'must change something');
export type GroupChangeRequest = z.infer<typeof GroupChangeRequest>;

/** The response to a seal or a cancellation. */
export const GroupChangeResponse = z.object({
  changed: z.boolean().describe('false: it was so already, or had ended.'),
  group: GroupBody,
});
export type GroupChangeResponse = z.infer<typeof GroupChangeResponse>;

/** A request to seal a group. */
export const SealRequest = z.strictObject({
  total: count.optional().describe('Expected number of jobs. Refused if the group has another.'),
});

const statistics = { count, sum: z.number(), min: z.number(), max: z.number() };

/** The result of one round of a group. A missing value is null. */
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
  successRate: z.number().min(0).max(1).describe('success / (success + failed); 1 for an empty group.'),
  averageDurationMs: amount,
  durations: z
    .object({ ...statistics, p50: amount, p95: amount, p99: amount })
    .describe('Durations of attempts in milliseconds.'),
  failedByCode: z.record(z.string(), count),
  failedJobs: z
    .array(z.object({ jobId: z.string(), code: z.string(), message: z.string() }))
    .describe('The first of them.'),
  data: z.unknown().describe('Output of its aggregator; null if there is none.'),
  numbers: z
    .record(z.string(), z.object(statistics))
    .describe('Statistics by the names that aggregators use.'),
  resultsDropped: count.describe('Results that were too large to keep. data is without them.'),
  startedAt: time.nullable(),
  endedAt: time,
  durationMs: amount,
});
export type GroupResultBody = z.infer<typeof GroupResultBody>;

export const GROUP_ROUTES = defineRoutes(BULK, {
  submitGroup: {
    summary: 'Submit a group of jobs',
    description:
      'Creates the group, adds its jobs and seals it: it completes when all of them are done. ' +
      'The same definition is the same group and known job ids are not added again, so the request can be repeated after a lost response. ' +
      'A JSON body is checked completely before anything is stored. Lines are read while they arrive and may hold millions of jobs, each id once. ' +
      'GROUP_NOT_FOUND: the id is in the namespace of another tenant.',
    headers: { ...uploadHeaders, traceparent: 'W3C trace context, passed on to the jobs.' },
    query: z.strictObject({
      seal: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'For a body of lines: false leaves the group open for more jobs. A JSON body has its own seal.',
        ),
    }),
    body: SubmitGroupRequest,
    ndjson: 'The first line is the group, every other line is a job. Blank lines are skipped.',
    ok: { 201: json('The group is stored, with its jobs', SubmitGroupResponse) },
    fails: ['GROUP_NOT_FOUND', ...UPLOAD_FAILS, 'GROUP_CONFLICT', 'SEAL_TOTAL_MISMATCH'],
  },
  listGroups: {
    summary: 'List groups',
    description: 'Newest first. A key that belongs to a tenant lists that tenant only.',
    query: z.strictObject({
      status: GroupStatusName.optional(),
      tenant: z.string().max(128).optional().describe("Only groups in this tenant's namespace."),
      tenantId: TenantRef.optional().describe('Only groups of this fairness unit.'),
      ...bulkPaging,
    }),
    ok: GroupPage,
  },
  getGroup: {
    summary: 'Get a group',
    description: 'Its definition, its times and its progress.',
    ok: GroupBody,
  },
  changeGroup: {
    audited: true,
    summary: 'Change, pause or resume a group',
    description: 'Applies at once, to queued jobs too. null removes a limit. Returns the changed group.',
    body: GroupChangeRequest,
    ok: GroupBody,
    fails: ['GROUP_ENDED'],
  },
  cancelGroup: {
    audited: true,
    summary: 'Cancel a group',
    description:
      'Starts no further job of the group and aborts those that run. A group that has ended does not change. Safe to repeat.',
    ok: GroupChangeResponse,
  },
  getGroupResult: {
    summary: 'Get the result of a group',
    description: 'Counts, durations, failures by code, and the output of its aggregator.',
    query: z.strictObject({
      round: z.coerce.number().int().min(1).optional().describe('The round (the last one that ended).'),
    }),
    ok: GroupResultBody,
    fails: ['RESULT_PENDING'],
  },
  getGroupProgress: {
    summary: 'Get the progress of a group over time',
    description:
      'Its counts over time. Only the newest 500 running groups are recorded; other groups have their start and the present.',
    ok: GroupProgressBody,
  },
  sealGroup: {
    summary: 'Seal a group',
    description:
      'The group accepts no more jobs and completes when every job is done, at once if it has none. Safe to repeat.',
    body: SealRequest,
    ok: GroupChangeResponse,
    fails: ['SEAL_TOTAL_MISMATCH'],
  },
});
