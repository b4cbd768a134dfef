import { defineErrors, ERRORS as FOUNDATION_ERRORS, MillraceError } from '@millrace/foundation';
import { ReplyError } from 'ioredis';

/** The errors of this package. */
export const ERRORS = defineErrors('redis', {
  REDIS_UNAVAILABLE: {
    message: 'Redis is unavailable for {operation}: {reason}; try again later',
    status: 503,
    retryable: true,
  },
  REDIS_TIMEOUT: {
    message: 'Redis did not reply to {operation} within {timeoutMs} ms',
    status: 504,
    retryable: true,
  },
  REDIS_SCRIPT_FAILED: {
    message: 'The Redis script {script} failed: {reason}',
    status: 500,
    retryable: false,
  },
  REDIS_REFUSED: { message: 'Redis refused {operation}: {reason}', status: 500, retryable: false },
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

/**
 * The meaning of a failed command for its caller.
 * - `connection`: unknown whether the command ran. A repeatable command may be sent again at once.
 * - `unavailable`: Redis cannot execute it now. Try later.
 * - `no-script`: Redis does not know the script. Send it in full.
 * - `script`: the script is wrong, or failed on purpose.
 * - `refused`: the command is wrong for this server or this data. A retry cannot help.
 */
export interface Failure {
  readonly kind: 'connection' | 'unavailable' | 'no-script' | 'script' | 'refused';
  /** The first word of Redis' reply, or the platform's code (`ECONNREFUSED`), for the error's details. */
  readonly code: string;
}

/** Error replies after which the same command can succeed later without a change. Too many clients is a plain ERR. */
const TRANSIENT =
  /^(MISCONF|OOM|READONLY|LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|NOREPLICAS|UNBLOCKED|ERR max number of clients)(?=\s|$)/;

const FROM_SCRIPT = /user_script|Error (running|compiling) script|script: [0-9a-f]{40}/;

/** Classifies an error that ioredis threw. */
export function classifyFailure(error: unknown): Failure {
  // The caller passed a value that no command can carry.
  if (error instanceof TypeError) return { kind: 'refused', code: error.name };
  const { message = '', code } = (error ?? {}) as { message?: string; code?: unknown };
  if (!(error instanceof (ReplyError as new () => Error))) {
    return { kind: 'connection', code: typeof code === 'string' ? code : 'CONNECTION' };
  }
  const word = /^[A-Z]+(?=\s|$)/.exec(message)?.[0] ?? 'ERR';
  if (TRANSIENT.test(message)) return { kind: 'unavailable', code: word };
  if (word === 'NOSCRIPT') return { kind: 'no-script', code: word };
  return { kind: FROM_SCRIPT.test(message) ? 'script' : 'refused', code: word };
}

/**
 * Turns an error that ioredis threw into `REDIS_UNAVAILABLE`, `REDIS_SCRIPT_FAILED` or `REDIS_REFUSED`, with the thrown
 * error as its cause. Returns a MillraceError as it is, except `REDIS_TIMEOUT`, which becomes `REDIS_UNAVAILABLE`.
 */
export function toRedisError(error: unknown, operation: string): MillraceError {
  const options = { cause: error };
  if (error instanceof MillraceError) {
    if (!ERRORS.is(error, 'REDIS_TIMEOUT')) return error;
    const details = { operation, reason: error.message, code: error.code };
    return ERRORS.create('REDIS_UNAVAILABLE', details, options);
  }
  const { kind, code } = classifyFailure(error);
  const reason = error instanceof Error && error.message !== '' ? error.message : code;
  if (kind === 'script' || kind === 'no-script') {
    const details = { script: operation, reason, code };
    return ERRORS.create('REDIS_SCRIPT_FAILED', details, options);
  }
  const details = { operation, reason, code };
  return ERRORS.create(kind === 'refused' ? 'REDIS_REFUSED' : 'REDIS_UNAVAILABLE', details, options);
}

/** Creates the error of a call whose deadline has passed. */
export const timeoutError = (operation: string, timeoutMs: number, cause: unknown): MillraceError =>
  ERRORS.create('REDIS_TIMEOUT', { operation, timeoutMs: Math.round(timeoutMs) }, { cause });

/** Creates the error of a call after `stop`. */
export const stoppedError = (): MillraceError =>
  FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The Redis connection' });
