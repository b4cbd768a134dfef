import { z } from 'zod';
import { count, keyText, paging, tenantField, time } from './fields.js';

const name = (what: string) =>
  z
    .string()
    .regex(/^[A-Z0-9_]{1,50}$/, 'must be 1 to 50 of A–Z, 0–9 and _')
    .describe(what);

/** The id of an operation. */
export const OpIdParam = z.guid().describe('The id of an operation, a UUID.');

/** Where an operation is. */
export const OperationStateName = z
  .enum(['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED'])
  .describe('COMPLETED and FAILED are ends and never change.');
/** Where an operation is. */
export type OperationStateName = z.infer<typeof OperationStateName>;

/** What somebody wants done, as `POST` takes it. Unknown fields are refused. */
export const SubmitRequest = z.strictObject({
  domain: name('With eventType it names the route.'),
  eventType: name('With domain it names the route.'),
  bizKey: keyText(100).describe('What it is about, in the words of the business.'),
  idemKey: keyText(255)
    .optional()
    .describe('The same for every repetition of one request; the header Idempotency-Key says the same.'),
  payload: z.unknown().optional().describe('Anything JSON can carry, up to 1 MiB; null unless given.'),
  timeBudgetMs: z
    .number()
    .optional()
    .describe('Longest wait for the outcome, in milliseconds; 200 unless given, 50 to 5000 are allowed.')
    .meta({ examples: [200] }),
});
/** What somebody wants done, as `POST` takes it. */
export type SubmitRequest = z.infer<typeof SubmitRequest>;

/** A command without how long to wait. */
export type CommandBody = Omit<SubmitRequest, 'timeBudgetMs'>;

const OkBody = z.object({
  type: z.literal('Ok'),
  message: z.string().optional(),
  data: z.unknown().optional(),
});
const RetryBody = z.object({
  type: z.literal('Retry'),
  reason: z.string(),
  attemptCount: z.int().min(1),
  nextRetryAfterMs: z.number().min(0),
});
const FailBody = z.object({
  type: z.literal('Fail'),
  errorCode: z.string(),
  message: z.string(),
  cause: z.unknown().optional(),
});

/** What came of an operation. */
export const OutcomeBody = z
  .discriminatedUnion('type', [OkBody, RetryBody, FailBody])
  .describe(
    'Ok: done. Fail: it will not be done. Retry: not done, retries are spent or another try follows.',
  );
/** What came of an operation. */
export type OutcomeBody = z.infer<typeof OutcomeBody>;

/** The answer 200 to a submit: the work ended inside the budget. */
export const CompletedResponse = z.object({
  opId: OpIdParam,
  status: z.enum(['COMPLETED', 'FAILED']).describe('FAILED is a failure of the work, not of the request.'),
  outcome: OutcomeBody,
});
/** The answer 200 to a submit: the work ended inside the budget. */
export type CompletedResponse = z.infer<typeof CompletedResponse>;

/** The answer 202 to a submit: the work goes on. */
export const AcceptedResponse = z.object({
  opId: OpIdParam,
  status: z.literal('IN_PROGRESS'),
  statusUrl: z.string().describe('Where to ask; the header Location says the same.'),
  estimatedCompletionTime: time.describe('From the measured durations of the route.'),
});
/** The answer 202 to a submit: the work goes on. */
export type AcceptedResponse = z.infer<typeof AcceptedResponse>;

/** An operation. What there is not is null. */
export const OperationBody = z.object({
  opId: OpIdParam,
  tenant: z.string().describe("'' for none."),
  traceparent: z.string().nullable(),
  domain: z.string(),
  eventType: z.string(),
  bizKey: z.string(),
  idemKey: z.string(),
  state: OperationStateName,
  outcome: OutcomeBody.nullable().describe('The last Retry while it waits for another try.'),
  attempts: count.describe('Tries begun.'),
  attemptsMax: count,
  refusals: count.describe('How often it was refused before a try began.'),
  dueAt: time.nullable().describe('Waiting for a try: not before this time.'),
  backing: z.object({ kind: z.string(), ref: z.string() }).nullable().describe('The work behind it.'),
  deadLetter: z.boolean().describe('FAILED by its work, not by a cancellation.'),
  acceptedAt: time,
  startedAt: time.nullable(),
  updatedAt: time,
  endedAt: time.nullable(),
});
/** An operation. What there is not is null. */
export type OperationBody = z.infer<typeof OperationBody>;

/** What `GET …/status` may be asked. */
export const StatusQuery = z.strictObject({
  wait: z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'must be a number of seconds')
    .optional()
    .describe('Answers when the operation has ended, at the latest after so many seconds (30 at most).'),
});

/** What a list may be asked. Unknown parameters are refused. */
export const ListQuery = z.strictObject({
  tenant: tenantField,
  domain: z.string().optional(),
  eventType: z.string().optional(),
  bizKey: z.string().optional(),
  state: OperationStateName.optional(),
  deadLetter: z.enum(['true', 'false']).optional().describe('true: only dead letters.'),
  limit: paging.limit,
  cursor: z.string().min(1).max(200).optional().describe('Of the page before.'),
});
/** What a list may be asked, as a client writes it. */
export interface ListFilter {
  /** '' for nobody's; of all that the caller may see without it. */
  readonly tenant?: string | undefined;
  readonly domain?: string | undefined;
  readonly eventType?: string | undefined;
  readonly bizKey?: string | undefined;
  readonly state?: OperationStateName | undefined;
  readonly deadLetter?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A part of a list, newest first. */
export const OperationPage = z.object({
  items: z.array(OperationBody),
  cursor: z.string().nullable().describe('Ask again with it for the next page; null: there is none.'),
});
/** A part of a list, newest first. */
export type OperationPage = z.infer<typeof OperationPage>;

/** The answer to a cancellation. */
export const CancelResponse = z.object({
  cancelled: z.boolean().describe('false: it had ended before, in another way, or still has to be ended.'),
  operation: OperationBody,
});
/** The answer to a cancellation. */
export type CancelResponse = z.infer<typeof CancelResponse>;

/** Names of the events of a stream: the operation as it is, each change, its end. */
export const OPERATION_EVENTS = ['start', 'change', 'end'] as const;

/** One event of a stream; its `data` is the operation. A stream ends with `end`; one that was cut begins again with `start`. */
export const OperationEvent = z.object({ type: z.enum(OPERATION_EVENTS), operation: OperationBody });
/** One event of a stream. */
export type OperationEvent = z.infer<typeof OperationEvent>;
