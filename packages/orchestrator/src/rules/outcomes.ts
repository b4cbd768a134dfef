import { bytesBeyond, encodeJson, toWorkError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { Backing, Ending, Settlement } from '../model.js';
import { type FailOutcome, type OkOutcome, Outcome, type RetryOutcome } from '../outcome.js';
import { fromStoredJson } from '../stored-json.js';

/**
 * Decides how an attempt is settled. Only `Ok` completes an operation. A `Retry` waits for the next attempt if one is left.
 * @param attempt - its number, from 1.
 */
export function judgeOutcome(outcome: Outcome, attempt: number, attemptsMax: number): Settlement {
  if (outcome.type !== 'Retry' || attempt >= attemptsMax) return { kind: 'final', ...endingOf(outcome) };
  return { kind: 'retry', outcome, delayMs: outcome.nextRetryAfterMs, refused: false };
}

/** Returns the end of an operation with this last outcome. A cancelled one is no dead letter. */
export const endingOf = (outcome: Outcome): Ending =>
  outcome.type === 'Ok'
    ? { state: 'COMPLETED', outcome, deadLetter: false }
    : {
        state: 'FAILED',
        outcome,
        deadLetter: !(outcome.type === 'Fail' && outcome.errorCode === 'CANCELLED'),
      };

const REASON_CHARACTERS_MAX = 500;

/**
 * Turns a thrown value into a `Retry`, or into a `Fail` if it is not retryable.
 * @param attempt - number of the attempt, from 1.
 * @param delayMs - returns the delay of the next attempt if the error does not set it.
 */
export function outcomeOfError(
  thrown: unknown,
  attempt: number,
  delayMs: (error: unknown) => number,
): RetryOutcome | FailOutcome {
  const { code, message, retryable, retryAfterMs } = toWorkError(thrown);
  if (!retryable) return Outcome.fail(code, message, causeOf(thrown));
  const reason = `${code}: ${message}`.slice(0, REASON_CHARACTERS_MAX);
  return Outcome.retry({ reason, attemptCount: attempt, nextRetryAfterMs: retryAfterMs ?? delayMs(thrown) });
}

/** Returns the cause of an error as a value that can be stored. */
function causeOf(thrown: unknown): unknown {
  try {
    const { cause } = thrown as { cause?: unknown };
    if (cause === undefined || cause === null) return undefined;
    const { code, message } = toWorkError(cause);
    return { code, message };
  } catch {
    return undefined; // A hostile object.
  }
}

/**
 * Returns an outcome as its readers get it from JSON. An `Ok` that cannot be stored becomes a `Fail`.
 * @param bytesMax - maximum size of its data or cause, as JSON.
 */
export function fitOutcome(outcome: Outcome, bytesMax: number): Outcome {
  if (outcome.type === 'Retry') return outcome;
  if (outcome.type === 'Ok' && outcome.data === undefined) return outcome;
  if (outcome.type === 'Fail' && outcome.cause === undefined) return outcome;
  const value = outcome.type === 'Ok' ? outcome.data : outcome.cause;
  const encoded = encodeJson(value);
  const reason = 'reason' in encoded ? encoded.reason : beyond(encoded.json, bytesMax);
  // The failure matters more than its cause.
  if (reason !== undefined && outcome.type === 'Fail')
    return Outcome.fail(outcome.errorCode, outcome.message);
  if (reason !== undefined || 'reason' in encoded) {
    const error = ERRORS.create('OUTCOME_INVALID', { reason });
    return Outcome.fail(error.code, error.message);
  }
  const kept = fromStoredJson(encoded.json);
  return outcome.type === 'Ok'
    ? Outcome.ok(kept, outcome.message)
    : Outcome.fail(outcome.errorCode, outcome.message, kept);
}

/**
 * Returns the outcome of work that another part did: its data, or a reference if the data is too large.
 * @param bytesMax - maximum size of the data, as JSON.
 */
export function outcomeOrReference(data: unknown, backing: Backing, bytesMax: number): OkOutcome {
  const fitted = fitOutcome(Outcome.ok(data), bytesMax);
  return fitted.type === 'Ok' ? fitted : referenceOutcome(backing);
}

/** Returns the outcome of work whose results stay with the part that did it. */
export const referenceOutcome = ({ kind, ref }: Backing): OkOutcome =>
  Outcome.ok({ reference: { kind, ref } });

function beyond(json: string, max: number): string | undefined {
  const bytes = bytesBeyond(json, max);
  return bytes === undefined
    ? undefined
    : `it is ${bytes} bytes, more than the ${max} allowed (outcomeBytesMax); store it elsewhere and return a reference`;
}
