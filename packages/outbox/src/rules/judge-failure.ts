import type { WorkError } from '@millrace/foundation';

/** What is known of a try that failed. */
export interface FailedTry {
  readonly error: WorkError;
  /** From 1. */
  readonly attempt: number;
  readonly attemptsMax: number;
  /** The delay of its back-off. */
  readonly backoffMs: number;
  readonly delayMaxMs: number;
}

/** What becomes of the task. */
export type FailureVerdict =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'dead-letter' };

/**
 * Decides what a failed try leads to: another one after its back-off (or after what the called service asked for), or a dead letter.
 */
export function judgeFailure({
  error,
  attempt,
  attemptsMax,
  backoffMs,
  delayMaxMs,
}: FailedTry): FailureVerdict {
  if (!error.retryable || attempt >= attemptsMax) return { kind: 'dead-letter' };
  return { kind: 'retry', delayMs: Math.min(error.retryAfterMs ?? backoffMs, delayMaxMs) };
}

/**
 * The pause after a task was lost, which is nobody's fault: short, and longer when it happens again, as for a task that takes its
 * database down each time.
 * @param lost - how often it was lost before.
 */
export const lossDelayMs = (lost: number): number => Math.min(100 * 2 ** lost, 10_000);
