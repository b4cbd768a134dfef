import { z } from 'zod';
import {
  GroupBody,
  GroupChangeRequest,
  GroupChangeResponse,
  GroupPage,
  GroupProgressBody,
  GroupQuery,
  GroupResultBody,
  ResultQuery,
  SealRequest,
  SubmitGroupQuery,
  SubmitGroupRequest,
  SubmitGroupResponse,
} from './bulk.js';
import { GroupRef, JobRef, TenantRef } from './bulk-fields.js';
import { DeadLetterPage, DeadLetterQuery, DeadLetterResponse, DeadLetterSelection } from './dead-letters.js';
import {
  CongestionBody,
  CongestionQuery,
  FairnessBody,
  FairnessQuery,
  QueuesBody,
  TenantBody,
  TenantChangeRequest,
} from './fairness.js';
import {
  AddJobsRequest,
  AddJobsResponse,
  ExplanationBody,
  JobDetailBody,
  JobPage,
  JobQuery,
} from './jobs.js';
import { defineRoutes, json } from './route.js';

const groupParams = z.object({ groupId: GroupRef });
const jobParams = z.object({ groupId: GroupRef, jobId: JobRef });
const tenantParams = z.object({ tenantId: TenantRef });
const uploadHeaders = {
  'Idempotency-Key':
    'Jobs without an id get one made from this key and their position, so a repeated request adds nothing twice. 1 to 100 characters of an id.',
};

const shared = {
  tag: 'Bulk',
  tenancy: 'own',
  fails: ['REQUEST_INVALID', 'ID_INVALID', 'BACKEND_UNAVAILABLE'],
} as const;
const UPLOAD_FAILS = [
  'GROUP_NOT_FOUND',
  'GROUP_SEALED',
  'PAYLOAD_INVALID',
  'JOBS_TOO_MANY',
  'LINE_INVALID',
  'UPLOAD_CUT_OFF',
  'QUEUE_FULL',
] as const;

/** Routes of groups. */
const GROUP_ROUTES = defineRoutes(shared, {
  submitGroup: {
    summary: 'Submit a group of jobs',
    description:
      'Creates the group, adds its jobs and seals it: it completes when all of them are done. ' +
      'The same definition is the same group and known job ids are not added again, so the request can be repeated after a lost response. ' +
      'A JSON body is checked completely before anything is stored. Lines are read while they arrive and may hold millions of jobs, each id once. ' +
      'GROUP_NOT_FOUND: the id is in the namespace of another tenant.',
    role: 'operate',
    headers: { ...uploadHeaders, traceparent: 'W3C trace context, passed on to the jobs.' },
    query: SubmitGroupQuery,
    body: SubmitGroupRequest,
    ndjson: 'The first line is the group, every other line is a job. Blank lines are skipped.',
    ok: { 201: json('The group is stored, with its jobs', SubmitGroupResponse) },
    fails: [...UPLOAD_FAILS, 'GROUP_CONFLICT', 'SEAL_TOTAL_MISMATCH'],
  },
  listGroups: {
    summary: 'List groups',
    description: 'Newest first. A key that belongs to a tenant lists that tenant only.',
    role: 'read',
    query: GroupQuery,
    ok: GroupPage,
  },
  getGroup: {
    summary: 'Get a group',
    description: 'Its definition, its times and its progress.',
    role: 'read',
    params: groupParams,
    ok: GroupBody,
    fails: ['GROUP_NOT_FOUND'],
  },
  changeGroup: {
    audited: true,
    summary: 'Change, pause or resume a group',
    description: 'Applies at once, to queued jobs too. null removes a limit. Returns the changed group.',
    role: 'operate',
    params: groupParams,
    body: GroupChangeRequest,
    ok: GroupBody,
    fails: ['GROUP_NOT_FOUND', 'GROUP_ENDED'],
  },
  cancelGroup: {
    audited: true,
    summary: 'Cancel a group',
    description:
      'Starts no further job of the group and aborts those that run. A group that has ended does not change. Safe to repeat.',
    role: 'operate',
    params: groupParams,
    ok: GroupChangeResponse,
    fails: ['GROUP_NOT_FOUND'],
  },
  getGroupResult: {
    summary: 'Get the result of a group',
    description: 'Counts, durations, failures by code, and the output of its aggregator.',
    role: 'read',
    params: groupParams,
    query: ResultQuery,
    ok: GroupResultBody,
    fails: ['GROUP_NOT_FOUND', 'RESULT_PENDING'],
  },
  getGroupProgress: {
    summary: 'Get the progress of a group over time',
    description:
      'Its counts over time. Only the newest 500 running groups are recorded; other groups have their start and the present.',
    role: 'read',
    params: groupParams,
    ok: GroupProgressBody,
    fails: ['GROUP_NOT_FOUND'],
  },
  sealGroup: {
    summary: 'Seal a group',
    description:
      'The group accepts no more jobs and completes when every job is done, at once if it has none. Safe to repeat.',
    role: 'operate',
    params: groupParams,
    body: SealRequest,
    ok: GroupChangeResponse,
    fails: ['GROUP_NOT_FOUND', 'SEAL_TOTAL_MISMATCH'],
  },
});

/** Routes of jobs. */
const JOB_ROUTES = defineRoutes(shared, {
  addJobs: {
    summary: 'Add jobs to a group',
    description:
      'Known job ids are not added again. An unknown group is created, open, with the defaults. A JSON body is checked completely before any job is stored. ' +
      'GROUP_NOT_FOUND: the id is in the namespace of another tenant.',
    role: 'operate',
    headers: uploadHeaders,
    params: groupParams,
    body: AddJobsRequest,
    ndjson: 'Every line is a job. Blank lines are skipped.',
    ok: AddJobsResponse,
    fails: UPLOAD_FAILS,
  },
  listJobs: {
    summary: 'List the jobs of a group',
    description: 'All jobs, or those with one status.',
    role: 'read',
    params: groupParams,
    query: JobQuery,
    ok: JobPage,
    fails: ['GROUP_NOT_FOUND'],
  },
  getJob: {
    summary: 'Get a job',
    description: 'Its present status, its last failed attempts, and its result if that is kept.',
    role: 'read',
    params: jobParams,
    ok: JobDetailBody,
    fails: ['GROUP_NOT_FOUND', 'JOB_NOT_FOUND'],
  },
  explainJob: {
    summary: 'Explain why a job does not run',
    description: 'Everything that blocks it, how much work runs before it, and when it will run.',
    role: 'read',
    params: jobParams,
    ok: ExplanationBody,
    fails: ['GROUP_NOT_FOUND', 'JOB_NOT_FOUND'],
  },
});

/** Routes of shares, limits and queues. */
const SHARE_ROUTES = defineRoutes(shared, {
  getTenant: {
    summary: 'Get a fairness unit',
    description: 'Its weight, limits and queued work. A key that belongs to a tenant sees its own unit only.',
    role: 'read',
    params: tenantParams,
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
    params: tenantParams,
    body: TenantChangeRequest,
    ok: TenantBody,
  },
  getFairness: {
    summary: 'Get the shares of tenants and groups',
    description:
      'Shares beside fair shares. The shares of tenants are measured: the cost of jobs started in the last seconds, for the 1,000 busiest. ' +
      'The shares of groups are computed from those of their tenant, without groups that ended in these seconds. ' +
      'A key that belongs to a tenant sees its own only.',
    role: 'read',
    query: FairnessQuery,
    ok: FairnessBody,
    fails: ['TENANT_NOT_FOUND'],
  },
  getCongestion: {
    tenancy: 'shared',
    summary: 'Get the congestion of called services',
    description:
      'Every service that is configured or was called, now and in the past hour, and one group if groupId is set. ' +
      'GROUP_NOT_FOUND: also for a group that has ended.',
    role: 'read',
    query: CongestionQuery,
    ok: CongestionBody,
    fails: ['GROUP_NOT_FOUND'],
  },
});

const QUEUE_ROUTES = defineRoutes(
  { tag: 'Bulk', tenancy: 'shared', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] },
  {
    getQueues: {
      summary: 'Get the queue lengths',
      description: 'The queues of the engine now.',
      role: 'read',
      ok: QueuesBody,
    },
  },
);

/** Routes of dead letters. */
const DEAD_LETTER_ROUTES = defineRoutes(shared, {
  listDeadLetters: {
    summary: 'List dead letters',
    description:
      'Jobs that failed and will not be retried, newest first; or their number by signature. A key that belongs to a tenant lists that tenant only.',
    role: 'read',
    query: DeadLetterQuery,
    ok: DeadLetterPage,
    fails: ['GROUP_NOT_FOUND'],
  },
  redriveDeadLetters: {
    audited: true,
    summary: 'Redrive dead letters',
    description: 'They run again with all retries. A group that has ended opens its next round.',
    role: 'operate',
    body: DeadLetterSelection,
    ok: DeadLetterResponse,
    fails: ['GROUP_NOT_FOUND', 'COUNT_CHANGED'],
  },
  purgeDeadLetters: {
    audited: true,
    summary: 'Purge dead letters',
    description: 'Deletes dead letters. Their jobs stay failed.',
    role: 'operate',
    body: DeadLetterSelection,
    ok: DeadLetterResponse,
    fails: ['GROUP_NOT_FOUND', 'COUNT_CHANGED'],
  },
});

/** Routes of the bulk part, except its pool. */
export const BULK_ROUTES = {
  ...GROUP_ROUTES,
  ...JOB_ROUTES,
  ...SHARE_ROUTES,
  ...QUEUE_ROUTES,
  ...DEAD_LETTER_ROUTES,
} as const;
