import { bytesBeyond, encodeJson } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import { Outcome } from './outcome.js';
import { fromStoredJson } from './stored-json.js';

/**
 * An outcome as every reader will see it: what JSON makes of its data. One that cannot be kept is a `Fail`.
 * @param bytesMax - most bytes of its data or cause, as JSON.
 */
export function fitOutcome(outcome: Outcome, bytesMax: number): Outcome {
  if (outcome.type === 'Retry') return outcome;
  if (outcome.type === 'Ok' && outcome.data === undefined) return outcome;
  if (outcome.type === 'Fail' && outcome.cause === undefined) return outcome;
  const value = outcome.type === 'Ok' ? outcome.data : outcome.cause;
  const encoded = encodeJson(value);
  const reason = 'reason' in encoded ? encoded.reason : beyond(encoded.json, bytesMax);
  // A failure is worth more than what was behind it.
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

function beyond(json: string, max: number): string | undefined {
  const bytes = bytesBeyond(json, max);
  return bytes === undefined
    ? undefined
    : `it is ${bytes} bytes, more than the ${max} allowed (outcomeBytesMax); keep it elsewhere and return where`;
}
