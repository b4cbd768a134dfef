/** Where a part writes what happened: fields first, then the sentence, as pino does. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds these fields to every line. */
  child(fields: object): Logger;
}

/** What every handler of every part is given besides its input. */
export interface WorkContext {
  /** Aborts when the work is cancelled, timed out, or its lease is lost: stop then. */
  readonly signal: AbortSignal;
  /** The number of this try, from 1. */
  readonly attempt: number;
  /** When the work stops being wanted. */
  readonly deadline?: Date;
  /** The same for every try of one piece of work: hand it to services that can recognise a repeat. */
  readonly idempotencyKey: string;
  readonly log: Logger;
}

/**
 * How long to wait before the next try: by name, or a function of the number of the try that failed (from 1) and its
 * error. The same type as in async-utils.
 */
export type BackoffStrategy = 'exponential' | 'linear' | ((attempt: number, error: unknown) => number);

/** How often failed work is tried again, and when. */
export interface RetryPolicy {
  /** Tries after the first one: tries = retries + 1. */
  readonly retries: number;
  readonly backoff?: BackoffStrategy;
  /** Share of each delay that is random, 0 to 1. */
  readonly jitter?: number;
}

/** A failure as Millrace keeps it, whatever was thrown. */
export interface WorkError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

const quiet = () => {};

/** A logger that writes nothing. */
export const silentLogger: Logger = Object.freeze({
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  child: () => silentLogger,
});
