import type { BackoffStrategy } from './backoff.js';
import type { Logger } from './logger.js';

/** The second argument of every handler. */
export interface WorkContext {
  /** Aborts when the work is cancelled, times out or loses its lease. */
  readonly signal: AbortSignal;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Time after which the result is no longer needed. */
  readonly deadline?: Date;
  /** The same for every attempt of one piece of work. Pass it to services that can detect repeated requests. */
  readonly idempotencyKey: string;
  readonly log: Logger;
}

/** Number and timing of retries. */
export interface RetryPolicy {
  /** Maximum retries after the first attempt. */
  readonly retries: number;
  readonly backoff?: BackoffStrategy;
  /** Random share of each delay, 0 to 1. */
  readonly jitter?: number;
}

/** Version, trace id, parent id and flags. W3C forbids version ff and ids of zeros. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACEPARENT_LENGTH = 55;

/** Returns the 32 hexadecimal digits of the trace id, or undefined if `traceparent` is no well-formed W3C trace context. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  // Most work has no trace: the length is checked first because it is cheaper.
  if (typeof traceparent !== 'string' || traceparent.length !== TRACEPARENT_LENGTH) return undefined;
  return TRACEPARENT.exec(traceparent)?.[1];
}
