import { z } from 'zod';
import {
  AcceptedResponse,
  CancelResponse,
  CompletedResponse,
  ListQuery,
  OperationBody,
  OperationEvent,
  OperationPage,
  OpIdParam,
  StatusQuery,
  SubmitRequest,
} from './operations.js';
import { defineRoute, json, problems, UNAVAILABLE } from './route.js';

const tag = 'Operations';
const NOT_FOUND = 'OPERATION_NOT_FOUND: there is none of this id, or it is another tenant’s.';
const params = z.object({ opId: OpIdParam });

/** Everything that can be asked about operations. */
export const OPERATION_ROUTES = {
  submitOperation: defineRoute('submitOperation', {
    tag,
    tenancy: 'own',
    summary: 'Submit a command',
    description:
      'Answers 200 with the outcome when the work ends inside the time budget, else 202 with a status URL while the work goes on. ' +
      'Completion at exactly the budget is answered 202. A failure of the work is 200 with status FAILED. ' +
      'The same idempotency key with the same body is the same operation: the work runs once.',
    role: 'operate',
    headers: {
      'Idempotency-Key': 'The same as idemKey of the body; a different one is refused.',
      Prefer:
        'RFC 7240: wait=seconds or respond-async, instead of timeBudgetMs, which wins. Out of range it is clamped; Preference-Applied says to what.',
      traceparent: 'W3C trace context; it travels with the work.',
    },
    body: SubmitRequest,
    answers: {
      200: json('The work ended inside the budget.', CompletedResponse, {
        'Preference-Applied': 'What was made of Prefer.',
      }),
      202: json('The work goes on.', AcceptedResponse, {
        Location: 'The status URL.',
        'Retry-After': 'When to ask, in seconds.',
        'Preference-Applied': 'What was made of Prefer.',
      }),
      ...problems({
        400: 'COMMAND_INVALID with each field that is wrong, or TIME_BUDGET_OUT_OF_RANGE.',
        404: 'ROUTE_NOT_FOUND: nothing takes commands of this domain and event type.',
        409: 'OPERATION_RUNNING: the key’s operation still runs (strict mode only).',
        422: 'IDEMPOTENCY_CONFLICT: the key was used with another body.',
        429: 'RATE_LIMIT: nothing was stored; Retry-After says when to come back.',
        503: 'STORE_UNAVAILABLE: it may have been accepted, repeat the same key. STORE_FULL, CB_OPEN, BULKHEAD_FULL: nothing was stored. Retry-After says when to come back.',
      }),
    },
  }),
  listOperations: defineRoute('listOperations', {
    tag,
    tenancy: 'own',
    summary: 'List operations',
    description:
      'Newest first, filtered; the caller’s tenant only, or of all tenants for a key that is not limited to one.',
    role: 'read',
    query: ListQuery,
    answers: {
      200: json('A page.', OperationPage),
      ...problems({ 400: 'REQUEST_INVALID; ID_INVALID: the cursor is not one of ours.', 503: UNAVAILABLE }),
    },
  }),
  getOperationStatus: defineRoute('getOperationStatus', {
    tag,
    tenancy: 'own',
    summary: 'Look at an operation',
    description: 'With wait it answers as soon as the operation has ended, at the latest after that time.',
    role: 'read',
    params,
    query: StatusQuery,
    answers: {
      200: json('The operation.', OperationBody, {
        'Retry-After': 'When to ask again, in seconds; only while it has not ended.',
      }),
      ...problems({ 400: 'REQUEST_INVALID.', 404: NOT_FOUND, 503: UNAVAILABLE }),
    },
  }),
  watchOperation: defineRoute('watchOperation', {
    tag,
    tenancy: 'own',
    summary: 'Watch an operation',
    description:
      'Server-sent events: start (the operation as it is), change (each change), end (then the stream closes); data is the operation as JSON.',
    role: 'read',
    streams: true,
    params,
    answers: {
      200: { description: 'The stream.', contentType: 'text/event-stream', schema: OperationEvent },
      ...problems({
        404: NOT_FOUND,
        429: 'STREAMS_FULL: too many streams are open.',
        503: UNAVAILABLE,
      }),
    },
  }),
  cancelOperation: defineRoute('cancelOperation', {
    tag,
    tenancy: 'own',
    summary: 'Cancel an operation',
    description:
      'Ends it as FAILED with the error code CANCELLED, and the work behind it. One that has ended stays as it is. May be repeated.',
    role: 'operate',
    audited: true,
    params,
    answers: {
      200: json('The operation after it.', CancelResponse),
      ...problems({ 404: NOT_FOUND, 503: UNAVAILABLE }),
    },
  }),
} as const;
