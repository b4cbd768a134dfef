import { MillraceError } from '@millrace/foundation';
import { ReplyError } from 'ioredis';
import { ERRORS } from './errors.js';
import { classifyFailure, type FailureVerdict } from './rules/classify-failure.js';

/**
 * Tells what a failed command means, from the error the client library threw.
 * @param error - what was thrown.
 * @returns the verdict.
 */
export function verdictOf(error: unknown): FailureVerdict {
  // A value that no command can carry: the caller's mistake, not the connection's.
  if (error instanceof TypeError) return { kind: 'refused', code: error.name };
  const { message = '', code } = (error ?? {}) as { message?: string; code?: unknown };
  const isReply = error instanceof (ReplyError as new () => Error);
  return classifyFailure({ isReply, message, code: typeof code === 'string' ? code : undefined });
}

/**
 * Turns what the client library threw into an error of the registry.
 * @param error - what was thrown; an error of ours stays as it is.
 * @returns `REDIS_UNAVAILABLE`, `REDIS_SCRIPT_FAILED` or `REDIS_REFUSED`, the thrown error as its cause.
 */
export function toRedisError(error: unknown, operation: string): MillraceError {
  if (error instanceof MillraceError) {
    if (!ERRORS.is(error, 'REDIS_TIMEOUT')) return error;
    const details = { operation, reason: error.message, code: error.code };
    return ERRORS.create('REDIS_UNAVAILABLE', details, { cause: error });
  }
  const { kind, code } = verdictOf(error);
  const reason = error instanceof Error && error.message !== '' ? error.message : code;
  const options = { cause: error };
  if (kind === 'script' || kind === 'no-script') {
    const details = { script: operation, reason, code };
    return ERRORS.create('REDIS_SCRIPT_FAILED', details, options);
  }
  const details = { operation, reason, code };
  return ERRORS.create(kind === 'refused' ? 'REDIS_REFUSED' : 'REDIS_UNAVAILABLE', details, options);
}
