import { defineErrors } from '@millrace/foundation';

/** The errors of this package. */
export const ERRORS = defineErrors('orchestrator', {
  COMMAND_INVALID: {
    message: 'Invalid command: {problems}',
    status: 400,
    retryable: false,
  },
  REQUEST_INVALID: {
    message: 'Invalid request: {problems}',
    status: 400,
    retryable: false,
  },
  STREAMS_FULL: {
    message: '{streams} event streams are open, the maximum (eventStreamsMax); poll the status URL instead',
    status: 429,
    retryable: true,
  },
  TIME_BUDGET_OUT_OF_RANGE: {
    message: 'timeBudgetMs must be between {minMs} and {maxMs} ms (current: {given})',
    status: 400,
    retryable: false,
  },
  ROUTE_NOT_FOUND: {
    message: 'Route {route} not found; known routes: {known}',
    status: 404,
    retryable: false,
  },
  ROUTE_INVALID: {
    message: 'Route {route} cannot be used: {reason}',
    status: 500,
    retryable: false,
  },
  OPERATION_NOT_FOUND: {
    message: 'Operation {opId} not found',
    status: 404,
    retryable: false,
  },
  OPERATION_NOT_TERMINAL: {
    message: 'Operation {opId} is {state} and has no outcome yet',
    status: 409,
    retryable: true,
  },
  OPERATION_RUNNING: {
    message: 'Operation {opId} with this idempotency key is still running; retry after its end',
    status: 409,
    retryable: true,
  },
  IDEMPOTENCY_CONFLICT: {
    message:
      "The idempotency key '{idemKey}' was used with another payload, by operation {opId}; use a new key for new work",
    status: 422,
    retryable: false,
  },
  TRANSITION_INVALID: {
    message: 'Invalid transition from {from} to {to}; allowed: {allowed}',
    status: 409,
    retryable: false,
  },
  STORE_UNAVAILABLE: {
    message:
      'The store did not confirm the operation within {waitedMs} ms and may have accepted it; repeat the same idempotency key',
    status: 503,
    retryable: true,
  },
  ORCHESTRATOR_STOPPING: {
    message: 'This instance is stopping; send the command to another instance',
    status: 503,
    retryable: true,
  },
  STORE_FULL: {
    message:
      'The store holds {operations} operations that have not ended; raise operationsMax or retry later',
    status: 503,
    retryable: true,
  },
  RATE_LIMIT: {
    message: 'Route {route} is at its rate limit; try again in {retryAfterMs} ms',
    status: 429,
    retryable: true,
  },
  CB_OPEN: {
    message: 'The circuit of route {route} is open after too many failures; try again in {retryAfterMs} ms',
    status: 503,
    retryable: true,
  },
  BULKHEAD_FULL: {
    message: 'Route {route} is at its concurrency limit; try again in {retryAfterMs} ms',
    status: 503,
    retryable: true,
  },
  OPERATION_TIMEOUT: {
    message: 'The work did not end within {timeoutMs} ms',
    status: 504,
    retryable: true,
  },
  OPERATION_LOST: {
    message: 'The instance that ran the operation died, and the operation must not run again ({why})',
    status: 500,
    retryable: false,
  },
  BACKING_LOST: {
    message: 'The {kind} work behind the operation no longer exists',
    status: 500,
    retryable: false,
  },
  HANDOVER_INVALID: {
    message: 'Route {route} cannot hand the command over: {reason}',
    status: 500,
    retryable: false,
  },
  GROUP_FAILED: {
    message: 'The bulk group {group} failed: {reason}',
    status: 500,
    retryable: false,
  },
  BATCH_FAILED: {
    message: 'The batch {batch} failed',
    status: 500,
    retryable: false,
  },
  CANCELLED: {
    message: 'The operation was cancelled',
    status: 499,
    retryable: false,
  },
  EXECUTOR_FAILED: {
    message: 'The executor failed: {reason}',
    status: 500,
    retryable: false,
  },
  OUTCOME_INVALID: {
    message: 'The outcome cannot be stored: {reason}',
    status: 500,
    retryable: false,
  },
});
