import type { Ending } from '../model.js';
import type { Outcome } from '../outcome.js';
import type { Settlement } from '../ports.js';

/**
 * What comes of a try: only `Ok` completes an operation, a `Retry` waits for the next try as long as there is one.
 * @param attempt - its number, from 1.
 * @param attemptsMax - how many there may be.
 */
export function judgeOutcome(outcome: Outcome, attempt: number, attemptsMax: number): Settlement {
  if (outcome.type !== 'Retry' || attempt >= attemptsMax) return { kind: 'final', ...endingOf(outcome) };
  return { kind: 'retry', outcome, delayMs: outcome.nextRetryAfterMs, refused: false };
}

/**
 * The end that an outcome means when nothing comes after it. What was cancelled, wherever, is nobody's failure.
 */
export const endingOf = (outcome: Outcome): Ending =>
  outcome.type === 'Ok'
    ? { state: 'COMPLETED', outcome, deadLetter: false }
    : {
        state: 'FAILED',
        outcome,
        deadLetter: !(outcome.type === 'Fail' && outcome.errorCode === 'CANCELLED'),
      };
