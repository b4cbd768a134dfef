import { defineErrors } from '@millrace/foundation';

/** The errors of this package. */
export const ERRORS = defineErrors('redis', {
  REDIS_UNAVAILABLE: {
    message: 'Redis could not do {operation}: {reason}; try again later',
    status: 503,
    retryable: true,
  },
  REDIS_TIMEOUT: {
    message: 'Redis did not answer {operation} within {timeoutMs} ms',
    status: 504,
    retryable: true,
  },
  REDIS_SCRIPT_FAILED: {
    message: 'The Redis script {script} failed: {reason}',
    status: 500,
    retryable: false,
  },
  REDIS_REFUSED: {
    message: 'Redis refused {operation}: {reason}',
    status: 500,
    retryable: false,
  },
  REDIS_SCRIPT_INVALID: {
    message: 'The Lua file {file} cannot be loaded: {reason}',
    status: 500,
    retryable: false,
  },
  REDIS_LAYOUT_NEWER: {
    message:
      'The data of {store} in Redis has layout {found}, this process knows {known}; run the newer release everywhere',
    status: 503,
    retryable: false,
  },
  REDIS_MAY_EVICT: {
    message:
      'Redis has maxmemory-policy {policy}, expected noeviction: it would delete queued work when memory is full; run CONFIG SET maxmemory-policy noeviction and keep it in redis.conf, or use another Redis',
    status: 503,
    retryable: false,
  },
});
