import { z } from 'zod';
import { count, keyText, pageOf, pagingBy, tenantField, time } from './fields.js';
import { OpIdParam } from './params.js';
import { defineRoutes, eventStream, json } from './route.js';

const routeName = (description: string) =>
  z
    .string()
    .regex(/^[A-Z0-9_]{1,50}$/, 'must be 1 to 50 of A–Z, 0–9 and _')
    .describe(description);

/** The state of an operation. */
export const OperationStateName = z
  .enum(['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED'])
  .describe('COMPLETED and FAILED are final.');

/** A command to submit. Unknown fields are refused. */
export const SubmitRequest = z.strictObject({
  domain: routeName('Names the route, together with eventType.'),
  eventType: routeName('Names the route, together with domain.'),
  bizKey: keyText(100).describe('The business object that the command is about.'),
  idemKey: keyText(255)
    .optional()
    .describe(
      'Idempotency key: the same for every repeat of one request. Same as the header Idempotency-Key.',
    ),
  payload: z.unknown().optional().describe('Any JSON up to 1 MiB (null).'),
  timeBudgetMs: z
    .number()
    .optional()
    .describe('Maximum wait for the outcome in milliseconds, 50 to 5000 (200).')
    .meta({ examples: [200] }),
});
export type SubmitRequest = z.infer<typeof SubmitRequest>;

/** A command without its time budget. */
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

/** The outcome of an operation. */
export const OutcomeBody = z
  .discriminatedUnion('type', [OkBody, RetryBody, FailBody])
  .describe(
    'Ok: done. Fail: failed for good. Retry: the attempt failed, and another follows or none is left.',
  );

/** The 200 response to a submit: the work ended within the budget. */
export const CompletedResponse = z.object({
  opId: OpIdParam,
  status: z.enum(['COMPLETED', 'FAILED']).describe('FAILED: the work failed, not the request.'),
  outcome: OutcomeBody,
});
export type CompletedResponse = z.infer<typeof CompletedResponse>;

/** The 202 response to a submit: the work continues. */
export const AcceptedResponse = z.object({
  opId: OpIdParam,
  status: z.literal('IN_PROGRESS'),
  statusUrl: z.string().describe('URL of the status; same as the header Location.'),
  estimatedCompletionTime: time.describe('Estimate from the measured durations of the route.'),
});
export type AcceptedResponse = z.infer<typeof AcceptedResponse>;

/** An operation. A missing value is null. */
export const OperationBody = z.object({
  opId: OpIdParam,
  tenant: z.string().describe("'' for no tenant."),
  traceparent: z.string().nullable(),
  domain: z.string(),
  eventType: z.string(),
  bizKey: z.string(),
  idemKey: z.string(),
  state: OperationStateName,
  outcome: OutcomeBody.nullable().describe('The last Retry while it waits for another attempt.'),
  attempts: count.describe('Attempts started.'),
  attemptsMax: count,
  refusals: count.describe('Refusals before an attempt started.'),
  dueAt: time.nullable().describe('Earliest start of the next attempt.'),
  backing: z.object({ kind: z.string(), ref: z.string() }).nullable().describe('Its group or batch.'),
  deadLetter: z.boolean().describe('True if its work FAILED; false after a cancellation.'),
  acceptedAt: time,
  startedAt: time.nullable(),
  updatedAt: time,
  endedAt: time.nullable(),
});
export type OperationBody = z.infer<typeof OperationBody>;

/** The query of `GET …/status`. */
export const StatusQuery = z.strictObject({
  wait: z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'must be a number of seconds')
    .optional()
    .describe('Seconds to wait for the end of the operation, 30 at most.'),
});

/** The query of the list of operations. */
export const ListQuery = z.strictObject({
  tenant: tenantField,
  domain: z.string().optional(),
  eventType: z.string().optional(),
  bizKey: z.string().optional(),
  state: OperationStateName.optional(),
  deadLetter: z.enum(['true', 'false']).optional().describe('true: only dead letters.'),
  ...pagingBy(z.string().min(1).max(200)),
});
/** The query of the list of operations, as a client writes it. All tenants that the key may see by default. */
export type ListFilter = Omit<z.input<typeof ListQuery>, 'deadLetter' | 'limit'> & {
  readonly deadLetter?: boolean | undefined;
  readonly limit?: number | undefined;
};

/** A page of operations, newest first. */
export const OperationPage = pageOf(OperationBody);
export type OperationPage = z.infer<typeof OperationPage>;

/** The response to a cancellation. */
export const CancelResponse = z.object({
  cancelled: z.boolean().describe('false: it ended before in another way, or has not ended yet.'),
  operation: OperationBody,
});
export type CancelResponse = z.infer<typeof CancelResponse>;

/** An event of an operation's stream; its `data` is the operation. The stream ends with `end`. After a reconnect it begins with `start`. */
export const OperationEvent = z.object({
  type: z.enum(['start', 'change', 'end']),
  operation: OperationBody,
});
export type OperationEvent = z.infer<typeof OperationEvent>;

const PREFERENCE = { 'Preference-Applied': 'The preferences of Prefer that the server applied.' };

const OPERATIONS = { tag: 'Operations', tenancy: 'own', fails: ['BACKEND_UNAVAILABLE'] } as const;

export const OPERATION_ROUTES = defineRoutes(OPERATIONS, {
  submitOperation: {
    summary: 'Submit a command',
    description:
      'Returns 200 with the outcome if the work ends within the time budget. Otherwise it returns 202 with a status URL and the work continues. ' +
      'Completion at exactly the budget is answered 202. A failure of the work is 200 with status FAILED. ' +
      'The same idempotency key with the same body is the same operation: the work runs once. ' +
      'After STORE_UNAVAILABLE repeat the same key: the command may have been accepted.',
    headers: {
      'Idempotency-Key': 'Same as idemKey of the body; a different value is refused.',
      Prefer:
        'RFC 7240: wait=seconds or respond-async, if timeBudgetMs is not set. A value out of range is clamped; see Preference-Applied.',
      traceparent: 'W3C trace context, passed on to the work.',
    },
    body: SubmitRequest,
    ok: {
      200: json('The work ended within the budget', CompletedResponse, PREFERENCE),
      202: json('The work continues', AcceptedResponse, {
        Location: 'The status URL.',
        'Retry-After': 'Seconds to wait before the first status request.',
        ...PREFERENCE,
      }),
    },
    fails: [
      'COMMAND_INVALID',
      'TIME_BUDGET_OUT_OF_RANGE',
      'ROUTE_NOT_FOUND',
      'OPERATION_RUNNING',
      'IDEMPOTENCY_CONFLICT',
      'RATE_LIMIT',
      'STORE_UNAVAILABLE',
      'STORE_FULL',
      'CB_OPEN',
      'BULKHEAD_FULL',
      'ORCHESTRATOR_STOPPING',
    ],
  },
  listOperations: {
    summary: 'List operations',
    description: 'Newest first. A key that belongs to a tenant lists that tenant only.',
    query: ListQuery,
    ok: OperationPage,
    fails: ['REQUEST_INVALID', 'ID_INVALID'],
  },
  getOperationStatus: {
    summary: 'Get an operation',
    description: 'With wait it responds as soon as the operation has ended, at the latest after that time.',
    query: StatusQuery,
    ok: {
      200: json('OK', OperationBody, {
        'Retry-After': 'Seconds to wait before the next request; only while the operation has not ended.',
      }),
    },
    fails: ['REQUEST_INVALID'],
  },
  watchOperation: {
    summary: 'Watch an operation',
    description:
      'Server-sent events: start (the operation now), change (each change), end (then the stream closes). data is the operation as JSON.',
    streams: true,
    ok: { 200: eventStream(OperationEvent) },
  },
  cancelOperation: {
    summary: 'Cancel an operation',
    description:
      'Ends the operation as FAILED with code CANCELLED and cancels its work. An operation that has ended does not change. Safe to repeat.',
    audited: true,
    ok: CancelResponse,
  },
});
