import { z } from 'zod';
import { amount, bulkCursor, bulkPaging, count, givenTime, time } from './fields.js';
import { JobRef } from './params.js';
import { defineRoutes } from './route.js';

/** The defaults of routes of the bulk part. */
export const BULK = {
  tag: 'Bulk',
  tenancy: 'own',
  fails: ['REQUEST_INVALID', 'ID_INVALID', 'BACKEND_UNAVAILABLE'],
} as const;

/** The status of a job, as its caller sees it. */
export const JobStatusName = z.enum(['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED']);
export type JobStatusName = z.infer<typeof JobStatusName>;

/** A job to add. Unknown fields are refused. */
export const JobRequest = z.strictObject({
  id: JobRef.optional().describe(
    'A known id is not added again. By default made from the Idempotency-Key and the position; without that key a repeat is not recognised.',
  ),
  processorType: z.string().min(1).max(128).describe('The type of the processor that runs it.'),
  payload: z.unknown().optional().describe('Any JSON (null).'),
  cost: z.int().min(1).optional().describe('Cost in the fair order and in rate limits (1).'),
  notBefore: givenTime.optional().describe('Not started before this time.'),
  deadline: givenTime.optional().describe('After this time it fails as DEADLINE_EXCEEDED.'),
  traceparent: z.string().max(100).optional().describe('W3C trace context (that of its group).'),
});
export type JobRequest = z.infer<typeof JobRequest>;

/** Jobs to add to a group. */
export const AddJobsRequest = z.strictObject({ jobs: z.array(JobRequest) });

/** The response to added jobs. */
export const AddJobsResponse = z.object({
  groupId: z.string(),
  added: count.describe('New jobs.'),
  known: count.describe('Jobs whose ids were registered before; they are unchanged.'),
  registered: count.describe('Jobs of the group now.'),
});
export type AddJobsResponse = z.infer<typeof AddJobsResponse>;

/** A job. A missing value is null. */
export const JobBody = z.object({
  id: z.string(),
  groupId: z.string(),
  tenant: z.string().describe("'' for no tenant."),
  processorType: z.string(),
  payload: z.unknown().describe('null once the job has completed.'),
  status: JobStatusName,
  place: z.enum(['LANE', 'READY', 'NON_READY', 'IN_FLIGHT', 'DONE', 'DEAD']).describe('The queue it is in.'),
  retryCount: count,
  orphanCount: count.describe('Leases that expired because its worker died.'),
  attempts: count.describe('Attempts started.'),
  cost: z.number(),
  createdAt: time,
  notBefore: time.nullable(),
  deadline: time.nullable(),
  startedAt: time.nullable().describe('Start of the last attempt.'),
  endedAt: time.nullable(),
  dueAt: time.nullable().describe('NON_READY: end of the delay.'),
  reason: z.string().nullable().describe('NON_READY: reason of the delay.'),
  failedAttempts: z
    .array(z.object({ at: time, ms: amount, code: z.string(), message: z.string() }))
    .describe('The last failed attempts, oldest first.'),
  traceparent: z.string().nullable(),
});
export type JobBody = z.infer<typeof JobBody>;

/** A job with its result. */
export const JobDetailBody = JobBody.extend({
  resultKept: z
    .boolean()
    .describe(
      'True if the store keeps its result: for completed jobs with an aggregator, or for all with keepResults, until the jobs of the group are removed. ' +
        'Not if the result is too large or not among the newest 50,000 of its group (fewer if they are large).',
    ),
  result: z.unknown().describe('The result of its processor; null if there is none or it is not kept.'),
});
export type JobDetailBody = z.infer<typeof JobDetailBody>;

/** A page of jobs. */
export const JobPage = z.object({ items: z.array(JobBody), cursor: bulkCursor });
export type JobPage = z.infer<typeof JobPage>;

/** Why a job does not run, and when it will. */
export const ExplanationBody = z.object({
  job: JobBody,
  gate: z
    .string()
    .describe(
      'The first gate: DONE, RUNNING, PAUSED, BACK_OFF, NO_PROCESSOR, GROUP_RATE, TURN, WORKER and so on.',
    ),
  gates: z
    .array(
      z.object({
        gate: z.string(),
        opensInMs: amount.nullable().describe('Time until it opens; null if unknown.'),
        detail: z.string(),
      }),
    )
    .describe('Everything that blocks the job, in the order in which the job meets it.'),
  position: z.object({
    jobsAhead: count.describe('In its group.'),
    groupsAhead: count.describe('In its tenant.'),
    tenantsAhead: count,
  }),
  etaMs: amount.nullable().describe('Time until it runs; null if unknown.'),
});
export type ExplanationBody = z.infer<typeof ExplanationBody>;

export const uploadHeaders = {
  'Idempotency-Key':
    'Jobs without an id get one made from this key and their position, so a repeated request adds nothing twice. 1 to 100 characters of an id.',
};

/** Codes that routes which add jobs can fail with. */
export const UPLOAD_FAILS = [
  'GROUP_SEALED',
  'PAYLOAD_INVALID',
  'JOBS_TOO_MANY',
  'LINE_INVALID',
  'UPLOAD_CUT_OFF',
  'QUEUE_FULL',
] as const;

export const JOB_ROUTES = defineRoutes(BULK, {
  addJobs: {
    summary: 'Add jobs to a group',
    description:
      'Known job ids are not added again. An unknown group is created, open, with the defaults. A JSON body is checked completely before any job is stored. ' +
      'GROUP_NOT_FOUND: the id is in the namespace of another tenant.',
    headers: uploadHeaders,
    body: AddJobsRequest,
    ndjson: 'Every line is a job. Blank lines are skipped.',
    ok: AddJobsResponse,
    fails: UPLOAD_FAILS,
  },
  listJobs: {
    summary: 'List the jobs of a group',
    description: 'All jobs, or those with one status.',
    query: z.strictObject({ state: JobStatusName.optional(), ...bulkPaging }),
    ok: JobPage,
  },
  getJob: {
    summary: 'Get a job',
    description: 'Its present status, its last failed attempts, and its result if that is kept.',
    ok: JobDetailBody,
  },
  explainJob: {
    summary: 'Explain why a job does not run',
    description: 'Everything that blocks it, how much work runs before it, and when it will run.',
    ok: ExplanationBody,
  },
});
