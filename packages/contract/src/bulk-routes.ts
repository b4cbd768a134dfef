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
import { defineRoute, INVALID, json, problems, UNAVAILABLE } from './route.js';

const tag = 'Bulk';
const BAD = `${INVALID} ID_INVALID: an id is not one.`;
const NO_GROUP = 'GROUP_NOT_FOUND: there is none of this id, or it is another tenant’s.';
const NO_JOB = `${NO_GROUP} JOB_NOT_FOUND: the group has no such job.`;
const SHARED = 'TENANT_REFUSED: this belongs to all tenants.';
const TOO_LARGE = 'JOBS_TOO_MANY: send fewer, or lines. PAYLOAD_TOO_LARGE: of one job.';
const LINES =
  'LINE_INVALID (a body of lines): the line that it names cannot be taken; all before it are stored, the group is not sealed.';
const FULL = 'QUEUE_FULL: too many jobs wait; Retry-After says when to come back.';
const groupParams = z.object({ groupId: GroupRef });
const jobParams = z.object({ groupId: GroupRef, jobId: JobRef });
const tenantParams = z.object({ tenantId: TenantRef });
const uploadHeaders = {
  'Idempotency-Key':
    'Ids of jobs without one are made from it and their position: the same request sent again registers nothing twice. 1 to 100 characters of an id.',
};
const own = { tag, tenancy: 'own' } as const;
const shared = { tag, tenancy: 'shared' } as const;

/** Everything that can be asked about groups. */
const GROUP_ROUTES = {
  submitGroup: defineRoute('submitGroup', {
    ...own,
    summary: 'Submit a group of jobs',
    description:
      'Makes the group, registers its jobs, and seals it: it completes when all of them are done. The same definition again is the same group; ids that it knows are not registered again, so the request may be sent again after a lost answer. ' +
      'As JSON everything is checked before anything is stored. As lines it is read while it comes, and may hold millions of jobs, each id once.',
    role: 'operate',
    headers: {
      ...uploadHeaders,
      traceparent: 'W3C trace context; it travels with the group.',
    },
    query: SubmitGroupQuery,
    body: SubmitGroupRequest,
    ndjson: 'The first line is the group, every other line a job; blank lines are left out.',
    answers: {
      201: json('The group is there, with its jobs.', SubmitGroupResponse),
      ...problems({
        400: `${BAD} PAYLOAD_INVALID. UPLOAD_CUT_OFF: the body ended too early.`,
        404: 'GROUP_NOT_FOUND: the id is in the namespace of another tenant.',
        409: 'GROUP_CONFLICT: the group exists with another definition. GROUP_SEALED: it takes no new jobs. SEAL_TOTAL_MISMATCH: it has other jobs too, or an id came twice.',
        413: TOO_LARGE,
        422: LINES,
        429: FULL,
        503: UNAVAILABLE,
      }),
    },
  }),
  listGroups: defineRoute('listGroups', {
    ...own,
    summary: 'List groups',
    description: 'Newest first, filtered; the caller’s tenant only.',
    role: 'read',
    query: GroupQuery,
    answers: { 200: json('A page.', GroupPage), ...problems({ 400: BAD, 503: UNAVAILABLE }) },
  }),
  getGroup: defineRoute('getGroup', {
    ...own,
    summary: 'Look at a group',
    description: 'Its definition, its life and how far it is.',
    role: 'read',
    params: groupParams,
    answers: {
      200: json('The group.', GroupBody),
      ...problems({ 400: BAD, 404: NO_GROUP, 503: UNAVAILABLE }),
    },
  }),
  changeGroup: defineRoute('changeGroup', {
    ...own,
    audited: true,
    summary: 'Change, pause or resume a group',
    description: 'Acts on work already queued, at once. null takes a limit away.',
    role: 'operate',
    params: groupParams,
    body: GroupChangeRequest,
    answers: {
      200: json('The group after it.', GroupBody),
      ...problems({ 400: BAD, 404: NO_GROUP, 409: 'GROUP_ENDED.', 503: UNAVAILABLE }),
    },
  }),
  cancelGroup: defineRoute('cancelGroup', {
    ...own,
    audited: true,
    summary: 'Cancel a group',
    description:
      'After the answer none of its jobs starts, and those that run are told to stop. One that has ended stays as it is. May be repeated.',
    role: 'operate',
    params: groupParams,
    answers: {
      200: json('The group after it.', GroupChangeResponse),
      ...problems({ 400: BAD, 404: NO_GROUP, 503: UNAVAILABLE }),
    },
  }),
  getGroupResult: defineRoute('getGroupResult', {
    ...own,
    summary: 'What came of a group',
    description: 'Counts, durations, failures by code, and what its aggregator made of the results.',
    role: 'read',
    params: groupParams,
    query: ResultQuery,
    answers: {
      200: json('The result.', GroupResultBody),
      ...problems({
        400: BAD,
        404: NO_GROUP,
        409: 'RESULT_PENDING: the round has not ended.',
        503: UNAVAILABLE,
      }),
    },
  }),
  getGroupProgress: defineRoute('getGroupProgress', {
    ...own,
    summary: 'How a group came along',
    description:
      'Its counts over time. Of more than 500 groups that run at once the newest are written down; of others only the start and now are known.',
    role: 'read',
    params: groupParams,
    answers: {
      200: json('The progress.', GroupProgressBody),
      ...problems({ 400: BAD, 404: NO_GROUP, 503: UNAVAILABLE }),
    },
  }),
  sealGroup: defineRoute('sealGroup', {
    ...own,
    summary: 'End the registration of a group',
    description: 'It completes when every job is done, at once when there is none. May be repeated.',
    role: 'operate',
    params: groupParams,
    body: SealRequest,
    answers: {
      200: json('The group after it.', GroupChangeResponse),
      ...problems({ 400: BAD, 404: NO_GROUP, 409: 'SEAL_TOTAL_MISMATCH.', 503: UNAVAILABLE }),
    },
  }),
} as const;

/** Everything that can be asked about jobs. */
const JOB_ROUTES = {
  addJobs: defineRoute('addJobs', {
    ...own,
    summary: 'Add jobs to a group',
    description:
      'Ids that the group knows are left alone. An unknown group is made, open, with the defaults. As JSON all jobs are checked before any is stored.',
    role: 'operate',
    headers: uploadHeaders,
    params: groupParams,
    body: AddJobsRequest,
    ndjson: 'Every line is a job; blank lines are left out.',
    answers: {
      200: json('They are registered.', AddJobsResponse),
      ...problems({
        400: `${BAD} PAYLOAD_INVALID. UPLOAD_CUT_OFF: the body ended too early.`,
        404: 'GROUP_NOT_FOUND: the id is in the namespace of another tenant.',
        409: 'GROUP_SEALED: it takes no new jobs.',
        413: TOO_LARGE,
        422: LINES,
        429: FULL,
        503: UNAVAILABLE,
      }),
    },
  }),
  listJobs: defineRoute('listJobs', {
    ...own,
    summary: 'List the jobs of a group',
    description: 'By state.',
    role: 'read',
    params: groupParams,
    query: JobQuery,
    answers: { 200: json('A page.', JobPage), ...problems({ 400: BAD, 404: NO_GROUP, 503: UNAVAILABLE }) },
  }),
  getJob: defineRoute('getJob', {
    ...own,
    summary: 'Look at a job',
    description: 'As it is now, with its last failed tries, and its result where that is kept.',
    role: 'read',
    params: jobParams,
    answers: {
      200: json('The job.', JobDetailBody),
      ...problems({ 400: BAD, 404: NO_JOB, 503: UNAVAILABLE }),
    },
  }),
  explainJob: defineRoute('explainJob', {
    ...own,
    summary: 'Why does a job not run?',
    description: 'Everything that holds it back, who comes first, and when it will run.',
    role: 'read',
    params: jobParams,
    answers: {
      200: json('The explanation.', ExplanationBody),
      ...problems({ 400: BAD, 404: NO_JOB, 503: UNAVAILABLE }),
    },
  }),
} as const;

/** Everything that can be asked about shares, limits and queues. */
const SHARE_ROUTES = {
  getTenant: defineRoute('getTenant', {
    ...own,
    summary: 'Look at a fairness unit',
    description: 'Its weight, its limits, and what it has waiting. A key of a tenant sees its own only.',
    role: 'read',
    params: tenantParams,
    answers: {
      200: json('The tenant.', TenantBody),
      ...problems({
        400: BAD,
        404: 'TENANT_NOT_FOUND: nobody has spoken of it, or it is another’s.',
        503: UNAVAILABLE,
      }),
    },
  }),
  changeTenant: defineRoute('changeTenant', {
    ...shared,
    audited: true,
    summary: 'Change weight and limits of a fairness unit',
    description: 'Known or not yet. Acts on work already queued, at once. null takes a limit away.',
    role: 'admin',
    params: tenantParams,
    body: TenantChangeRequest,
    answers: {
      200: json('The tenant after it.', TenantBody),
      ...problems({ 400: BAD, 403: SHARED, 503: UNAVAILABLE }),
    },
  }),
  getFairness: defineRoute('getFairness', {
    ...own,
    summary: 'Who gets which share?',
    description:
      'Shares against fair shares. Those of tenants are measured: the cost of jobs started in the last seconds, of the 1000 busiest. ' +
      'Those of groups are made from their tenant’s: groups that ended in these seconds have no part in them. A key of a tenant sees its own only.',
    role: 'read',
    query: FairnessQuery,
    answers: {
      200: json('The shares.', FairnessBody),
      ...problems({
        400: BAD,
        404: 'TENANT_NOT_FOUND: it is another’s.',
        503: UNAVAILABLE,
      }),
    },
  }),
  getQueues: defineRoute('getQueues', {
    ...shared,
    summary: 'How full are the queues?',
    description: 'The queues of the engine as they are now.',
    role: 'read',
    answers: { 200: json('The queues.', QueuesBody), ...problems({ 403: SHARED, 503: UNAVAILABLE }) },
  }),
  getCongestion: defineRoute('getCongestion', {
    ...shared,
    summary: 'How do called services hold work back?',
    description: 'Every service that is configured or was called, now and in the past hour; and one group.',
    role: 'read',
    query: CongestionQuery,
    answers: {
      200: json('The services.', CongestionBody),
      ...problems({
        400: BAD,
        403: SHARED,
        404: 'GROUP_NOT_FOUND: also for a group that has ended.',
        503: UNAVAILABLE,
      }),
    },
  }),
} as const;

const CHANGED = 'COUNT_CHANGED: the dead letters are not as many as expectedCount says; nothing was moved.';

/** Everything that can be asked about dead letters. */
const DEAD_LETTER_ROUTES = {
  listDeadLetters: defineRoute('listDeadLetters', {
    ...own,
    summary: 'List dead letters',
    description: 'Jobs that failed for good, newest first; or counted by cause. The caller’s tenant only.',
    role: 'read',
    query: DeadLetterQuery,
    answers: {
      200: json('A page, or the causes.', DeadLetterPage),
      ...problems({ 400: BAD, 404: NO_GROUP, 503: UNAVAILABLE }),
    },
  }),
  redriveDeadLetters: defineRoute('redriveDeadLetters', {
    ...own,
    audited: true,
    summary: 'Send dead letters back',
    description: 'They run again, with fresh retries; a group that has ended opens its next round.',
    role: 'operate',
    body: DeadLetterSelection,
    answers: {
      200: json('How many went back.', DeadLetterResponse),
      ...problems({ 400: BAD, 404: NO_GROUP, 409: CHANGED, 503: UNAVAILABLE }),
    },
  }),
  purgeDeadLetters: defineRoute('purgeDeadLetters', {
    ...own,
    audited: true,
    summary: 'Throw dead letters away',
    description: 'Their jobs stay failed.',
    role: 'operate',
    body: DeadLetterSelection,
    answers: {
      200: json('How many are gone.', DeadLetterResponse),
      ...problems({ 400: BAD, 404: NO_GROUP, 409: CHANGED, 503: UNAVAILABLE }),
    },
  }),
} as const;

/** Everything that can be asked of the bulk part, but its pool. */
export const BULK_ROUTES = {
  ...GROUP_ROUTES,
  ...JOB_ROUTES,
  ...SHARE_ROUTES,
  ...DEAD_LETTER_ROUTES,
} as const;
