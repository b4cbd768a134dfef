import { defineErrors } from '@millrace/foundation';

/** The errors of this package. */
export const ERRORS = defineErrors('orchestrator', {
  COMMAND_INVALID: {
    message: 'The command cannot be taken: {problems}',
    status: 400,
    retryable: false,
  },
  REQUEST_INVALID: {
    message: 'The request cannot be taken: {problems}',
    status: 400,
    retryable: false,
  },
  STREAMS_FULL: {
    message:
      '{streams} streams of events are open, the most there may be (eventStreamsMax); ask for the status instead',
    status: 429,
    retryable: true,
  },
  TIME_BUDGET_OUT_OF_RANGE: {
    message: 'timeBudgetMs must be between {minMs} and {maxMs} ms (current: {given})',
    status: 400,
    retryable: false,
  },
  ROUTE_NOT_FOUND: {
    message: 'There is no route {route}; known: {known}',
    status: 404,
    retryable: false,
  },
  ROUTE_INVALID: {
    message: 'Route {route} cannot be used: {reason}',
    status: 500,
    retryable: false,
  },
  OPERATION_NOT_FOUND: {
    message: 'There is no operation {opId}',
    status: 404,
    retryable: false,
  },
  OPERATION_NOT_TERMINAL: {
    message: 'Operation {opId} is {state} and has no outcome yet',
    status: 409,
    retryable: true,
  },
  OPERATION_RUNNING: {
    message: 'Operation {opId} with this idempotency key is still running',
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
    message: 'An operation cannot go from {from} to {to}, only to {allowed}',
    status: 409,
    retryable: false,
  },
  STORE_UNAVAILABLE: {
    message:
      'The operation could not be confirmed within {waitedMs} ms; it may have been accepted: repeat the same idempotency key',
    status: 503,
    retryable: true,
  },
  ORCHESTRATOR_STOPPING: {
    message: 'This instance is being stopped and takes no more commands; send it again, to another instance',
    status: 503,
    retryable: true,
  },
  STORE_FULL: {
    message: 'The store holds {operations} operations that have not ended, the most it may (operationsMax)',
    status: 503,
    retryable: true,
  },
  RATE_LIMIT: {
    message: 'Route {route} takes no more commands for {retryAfterMs} ms: its rate limit is reached',
    status: 429,
    retryable: true,
  },
  CB_OPEN: {
    message:
      'Route {route} takes no commands for {retryAfterMs} ms: too many of its calls failed (circuit open)',
    status: 503,
    retryable: true,
  },
  BULKHEAD_FULL: {
    message: 'Route {route} is busy with as many commands as it may; try again in {retryAfterMs} ms',
    status: 503,
    retryable: true,
  },
  OPERATION_TIMEOUT: {
    message: 'The work did not end within {timeoutMs} ms',
    status: 504,
    retryable: true,
  },
  OPERATION_LOST: {
    message: 'The instance that ran the operation was lost, and the operation must not run again ({why})',
    status: 500,
    retryable: false,
  },
  BACKING_LOST: {
    message: 'The {kind} work that stood behind the operation is gone',
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
    message: 'The outcome cannot be kept: {reason}',
    status: 500,
    retryable: false,
  },
});
