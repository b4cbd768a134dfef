import { createHash } from 'node:crypto';
import parse from 'secure-json-parse';
import { ERRORS } from './errors.js';
import type { Ending, Settlement } from './model.js';
import { Outcome } from './outcome.js';

/**
 * What a store keeps of a value. JSON text and no `json` column: PostgreSQL refuses NUL characters and deep nesting there.
 * @param value - anything JSON can carry; what it cannot is null.
 */
export const toStoredJson = (value: unknown): string => JSON.stringify(value) ?? 'null';

/**
 * Reads what a store kept. A key `__proto__` is left out: code that copies the value must not change what its objects inherit.
 * @param text - of `toStoredJson`.
 */
export const fromStoredJson = (text: string): unknown =>
  parse(text, null, { protoAction: 'remove', constructorAction: 'ignore' });

/**
 * The text of an outcome to be stored.
 * @throws MillraceError `OUTCOME_INVALID` when JSON cannot carry it.
 */
export function toOutcomeText(outcome: Outcome): string {
  try {
    return toStoredJson(outcome);
  } catch (cause) {
    throw ERRORS.create('OUTCOME_INVALID', { reason: `JSON cannot carry it: ${String(cause)}` }, { cause });
  }
}

/**
 * The text of the outcome of an end.
 * @throws MillraceError `OUTCOME_INVALID` also for an end that is COMPLETED without an `Ok`, or FAILED with one.
 */
export function toEndingText({ state, outcome }: Ending): string {
  if ((state === 'COMPLETED') !== (outcome.type === 'Ok'))
    throw ERRORS.create('OUTCOME_INVALID', { reason: `${state} cannot end with ${outcome.type}` });
  return toOutcomeText(outcome);
}

/**
 * An outcome that was stored. One that somebody has spoilt in the store is told as such: it must not take a whole list with it.
 * @param text - of `toOutcomeText`.
 */
export function fromOutcomeText(text: string): Outcome {
  try {
    const stored = fromStoredJson(text) as Outcome;
    if (stored.type === 'Ok') return Outcome.ok(stored.data, stored.message);
    if (stored.type === 'Retry') return Outcome.retry(stored);
    return Outcome.fail(stored.errorCode, stored.message, stored.cause);
  } catch (error) {
    return Outcome.fail('OUTCOME_INVALID', `The stored outcome cannot be read: ${String(error)}`);
  }
}

/** Longest wait for another try. A longer one would not fit into the times of every store. */
const DELAY_MAX_MS = 31 * 24 * 3_600_000;

/**
 * A wait within its limits.
 * @param delayMs - as it was asked for; what is no number is the longest wait.
 */
export const boundedDelayMs = (delayMs: number): number =>
  Math.round(Math.min(Math.max(Number.isNaN(delayMs) ? DELAY_MAX_MS : delayMs, 0), DELAY_MAX_MS));

const MARK_LENGTH_MAX = 100;

/**
 * Tells one settlement of a try from all others, so that a repeated one is known again when the answer to the first was lost.
 * @param by - the token of the try, or `backing`.
 */
export function settlementMark(
  by: number | 'backing',
  settlement: Settlement,
  outcomeText: string | undefined,
): string {
  const parts =
    settlement.kind === 'final'
      ? [settlement.state, settlement.deadLetter]
      : settlement.kind === 'retry'
        ? [settlement.delayMs, settlement.refused]
        : settlement.kind === 'backed'
          ? [settlement.backing.kind, settlement.backing.ref]
          : [];
  const text = JSON.stringify([settlement.kind, ...parts, outcomeText]);
  // Most are short, and a digest is a quarter of the time of writing one in memory.
  const short = text.length <= MARK_LENGTH_MAX ? text : createHash('sha256').update(text).digest('base64url');
  return `${by}:${short}`;
}
