import { z } from 'zod';
import { amount, givenTime, JobRef, nextCursor, PAGE } from './bulk-fields.js';
import { count, time } from './fields.js';

/** Where a job is, as its caller sees it. */
export const JobStatusName = z.enum(['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED']);
/** Where a job is, as its caller sees it. */
export type JobStatusName = z.infer<typeof JobStatusName>;

/** One job, as a caller hands it in. Unknown fields are refused. */
export const JobRequest = z.strictObject({
  id: JobRef.optional().describe(
    'One that its group knows is not registered again. Left out it is made from the Idempotency-Key and the position; without that key a repeat is not recognised.',
  ),
  processorType: z.string().min(1).max(128).describe('Which processor runs it.'),
  payload: z.unknown().optional().describe('Anything JSON can carry; null unless given.'),
  cost: z.int().min(1).optional().describe('What it counts in the fair order and in rate limits (1).'),
  notBefore: givenTime.optional().describe('Not started before this.'),
  deadline: givenTime.optional().describe('Not started after this: then it fails as DEADLINE_EXCEEDED.'),
  traceparent: z
    .string()
    .max(100)
    .optional()
    .describe('Its own W3C trace context; that of its group unless given.'),
});
/** One job, as a caller hands it in. */
export type JobRequest = z.infer<typeof JobRequest>;

/** More jobs of a group. */
export const AddJobsRequest = z.strictObject({ jobs: z.array(JobRequest) });
/** More jobs of a group. */
export type AddJobsRequest = z.infer<typeof AddJobsRequest>;

/** What became of them. */
export const AddJobsResponse = z.object({
  groupId: z.string(),
  added: count.describe('Jobs that are new.'),
  known: count.describe('Jobs whose ids were registered before: nothing happened to them.'),
  registered: count.describe('Jobs of the group now.'),
});
/** What became of them. */
export type AddJobsResponse = z.infer<typeof AddJobsResponse>;

/** A job. What there is not is null. */
export const JobBody = z.object({
  id: z.string(),
  groupId: z.string(),
  tenant: z.string().describe("'' for none."),
  processorType: z.string(),
  payload: z.unknown().describe('null once the job has succeeded.'),
  status: JobStatusName,
  place: z
    .enum(['LANE', 'READY', 'NON_READY', 'IN_FLIGHT', 'DONE', 'DEAD'])
    .describe('Which queue it is in.'),
  retryCount: count,
  orphanCount: count.describe('How often whoever ran it vanished.'),
  attempts: count.describe('Tries begun.'),
  cost: z.number(),
  createdAt: time,
  notBefore: time.nullable(),
  deadline: time.nullable(),
  startedAt: time.nullable().describe('The start of the last try.'),
  endedAt: time.nullable(),
  dueAt: time.nullable().describe('NON_READY: when it may go on.'),
  reason: z.string().nullable().describe('NON_READY: why it waits.'),
  failedTries: z
    .array(z.object({ at: time, ms: amount, code: z.string(), message: z.string() }))
    .describe('The last ones, oldest first.'),
  traceparent: z.string().nullable(),
});
/** A job. What there is not is null. */
export type JobBody = z.infer<typeof JobBody>;

/** A job, with what came of it. */
export const JobDetailBody = JobBody.extend({
  resultKept: z
    .boolean()
    .describe(
      'Whether the store has what its processor gave: of completed jobs whose results are aggregated, or all with keepResults, until the ' +
        'group’s jobs are removed; not of one whose result was too large, or is not among the newest 50,000 of its group (fewer where they are large).',
    ),
  result: z.unknown().describe('What its processor gave; null: nothing, or it is not kept.'),
});
/** A job, with what came of it. */
export type JobDetailBody = z.infer<typeof JobDetailBody>;

/** What a list of jobs may be asked. */
export const JobQuery = z.strictObject({ state: JobStatusName.optional(), ...PAGE });

/** A part of a list of jobs. */
export const JobPage = z.object({ items: z.array(JobBody), cursor: nextCursor });
/** A part of a list of jobs. */
export type JobPage = z.infer<typeof JobPage>;

/** Why a job does not run, and when it will. */
export const ExplanationBody = z.object({
  job: JobBody,
  gate: z
    .string()
    .describe(
      'The first of gates: DONE, RUNNING, PAUSED, BACK_OFF, NO_PROCESSOR, GROUP_RATE, TURN, WORKER and so on.',
    ),
  gates: z
    .array(
      z.object({
        gate: z.string(),
        opensInMs: amount.nullable().describe('When it opens by itself; null: not known.'),
        detail: z.string(),
      }),
    )
    .describe('Everything that must change before it runs, in the order in which it meets it.'),
  position: z.object({
    jobsAhead: count.describe('Of its group.'),
    groupsAhead: count.describe('Of its tenant.'),
    tenantsAhead: count,
  }),
  etaMs: amount.nullable().describe('Until it runs; null: not known.'),
});
/** Why a job does not run, and when it will. */
export type ExplanationBody = z.infer<typeof ExplanationBody>;
