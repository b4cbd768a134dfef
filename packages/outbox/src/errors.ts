import { defineErrors } from '@millrace/foundation';

/** The errors of this package. Those of the database (`BACKEND_UNAVAILABLE`, `TX_CLOSED`, `TX_REENTRANT` …) are @millrace/postgres' own. */
export const ERRORS = defineErrors('outbox', {
  DAG_INVALID: {
    message: "DAG '{dag}' cannot be used: {reason}",
    status: 422,
    retryable: false,
  },
  DAG_NOT_FOUND: {
    message: "There is no DAG '{dag}'; register it first, by giving it to the outbox of one running instance",
    status: 404,
    retryable: false,
  },
  BATCH_NOT_FOUND: {
    message: 'There is no batch {batch}',
    status: 404,
    retryable: false,
  },
  TASK_NOT_FOUND: {
    message: "Batch {batch} has no task '{task}'",
    status: 404,
    retryable: false,
  },
  BATCH_TOO_LARGE: {
    message: '{what} of {dag} is {given}, more than the {max} allowed ({option})',
    status: 413,
    retryable: false,
  },
  TASK_NOT_RETRYABLE: {
    message:
      "Task '{task}' of batch {batch} is {status}, and only a FAILED one can be retried; retry the batch for all others",
    status: 409,
    retryable: false,
  },
  TASK_TIMEOUT: {
    message: 'The handler did not end within {timeoutMs} ms',
    status: 504,
    retryable: true,
  },
  TASK_LOST: {
    message:
      'The task was lost {times} times without a result: its worker died, or its database connection; see lostMax',
    status: 500,
    retryable: false,
  },
  CLAIM_LOST: {
    message:
      'The task is no longer this worker’s: its lease ended, or its batch was aborted or retried; its writes are rolled back',
    status: 409,
    retryable: false,
  },
  RESULT_INVALID: {
    message: 'The result of {handler} must be {expected}, got {given}',
    status: 500,
    retryable: false,
  },
  TASKS_INVALID: {
    message: 'addTasks in {handler}: {reason}',
    status: 500,
    retryable: false,
  },
  SCHEDULE_INVALID: {
    message: "Schedule '{schedule}' cannot be used: {reason}",
    status: 422,
    retryable: false,
  },
  SCHEDULE_NOT_FOUND: {
    message: "There is no schedule '{schedule}' of this tenant; set it first",
    status: 404,
    retryable: false,
  },
});
