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
import { defineRoutes, eventStream, json } from './route.js';

const params = z.object({ opId: OpIdParam });
const PREFERENCE = { 'Preference-Applied': 'The preferences of Prefer that the server applied.' };

/** Routes of operations. */
export const OPERATION_ROUTES = defineRoutes(
  { tag: 'Operations', tenancy: 'own', fails: ['BACKEND_UNAVAILABLE'] },
  {
    submitOperation: {
      summary: 'Submit a command',
      description:
        'Returns 200 with the outcome if the work ends within the time budget. Otherwise it returns 202 with a status URL and the work continues. ' +
        'Completion at exactly the budget is answered 202. A failure of the work is 200 with status FAILED. ' +
        'The same idempotency key with the same body is the same operation: the work runs once. ' +
        'After STORE_UNAVAILABLE repeat the same key: the command may have been accepted.',
      role: 'operate',
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
      role: 'read',
      query: ListQuery,
      ok: OperationPage,
      fails: ['REQUEST_INVALID', 'ID_INVALID'],
    },
    getOperationStatus: {
      summary: 'Get an operation',
      description: 'With wait it responds as soon as the operation has ended, at the latest after that time.',
      role: 'read',
      params,
      query: StatusQuery,
      ok: {
        200: json('OK', OperationBody, {
          'Retry-After': 'Seconds to wait before the next request; only while the operation has not ended.',
        }),
      },
      fails: ['REQUEST_INVALID', 'OPERATION_NOT_FOUND'],
    },
    watchOperation: {
      summary: 'Watch an operation',
      description:
        'Server-sent events: start (the operation now), change (each change), end (then the stream closes). data is the operation as JSON.',
      role: 'read',
      streams: true,
      params,
      ok: { 200: eventStream(OperationEvent) },
      fails: ['OPERATION_NOT_FOUND'],
    },
    cancelOperation: {
      summary: 'Cancel an operation',
      description:
        'Ends the operation as FAILED with code CANCELLED and cancels its work. An operation that has ended does not change. Safe to repeat.',
      role: 'operate',
      audited: true,
      params,
      ok: CancelResponse,
      fails: ['OPERATION_NOT_FOUND'],
    },
  },
);
