import { AbortError } from '@millrace/async-utils';
import { defineErrors } from '@millrace/foundation';

/** The errors of this package. */
export const ERRORS = defineErrors('runtime', {
  QUEUE_FULL: {
    message: 'The queue {queue} holds {size} items, its maximum; try again later or consume faster',
    status: 429,
    retryable: true,
  },
  QUEUE_CLOSED: {
    message: 'The queue {queue} is closed and takes no more items',
    status: 503,
    retryable: false,
  },
  QUEUE_PAYLOAD_INVALID: {
    message: 'The payload cannot be stored: {reason}',
    status: 400,
    retryable: false,
  },
  WORKER_WITHOUT_HANDLER: {
    message:
      'Worker {worker} has no handler; give one to the constructor or to worker.handle(fn) before start()',
    status: 500,
    retryable: false,
  },
  POOL_CLOSED: {
    message: 'The thread pool {pool} is shut down and takes no more tasks',
    status: 503,
    retryable: false,
  },
  TASK_CANCELLED: { message: 'The task {task} was cancelled', status: 410, retryable: false },
  THREAD_CRASHED: {
    message: 'The thread of task {task} ended while it ran: {reason}',
    status: 500,
    retryable: true,
  },
  TASK_NOT_FOUND: {
    message: 'There is no task {task}: it never was, or its result has expired',
    status: 404,
    retryable: false,
  },
  TASK_FAILED: { message: 'The task {task} failed: {reason}', status: 500, retryable: false },
  TASK_OUTPUT_TOO_LARGE: {
    message: 'The task {task} wrote more than {max} characters; raise textCharactersMax or write less',
    status: 500,
    retryable: false,
  },
  TASK_PENDING: {
    message: 'The task {task} has not ended; its status is {status}',
    status: 409,
    retryable: true,
  },
  CHAT_SESSION_NOT_FOUND: { message: 'There is no chat session {session}', status: 404, retryable: false },
  CHAT_TASK_NOT_FOUND: {
    message: 'There is no task {task} in chat session {session}',
    status: 404,
    retryable: false,
  },
  CHAT_MESSAGE_EMPTY: { message: 'The message is empty; send some text', status: 400, retryable: false },
  CHAT_MESSAGE_TOO_LONG: {
    message: 'The message has {length} characters; at most {max} are allowed',
    status: 413,
    retryable: false,
  },
  CHAT_QUEUE_FULL: {
    message: 'Too many chat turns are waiting; try again in {retryAfterSeconds} s',
    status: 429,
    retryable: true,
  },
  CHAT_STREAM_ERROR: { message: 'The chat model failed: {reason}', status: 502, retryable: true },
  ENVIRONMENT_INVALID: {
    message: "{variable} must be {expected}, got '{given}'",
    status: 500,
    retryable: false,
  },
});

/** Makes the AbortError of a signal that has aborted, with its reason as the cause. */
export const abortError = (signal: AbortSignal): AbortError =>
  new AbortError('The operation was aborted', { cause: signal.reason });
