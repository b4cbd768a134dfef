import { createHash } from 'node:crypto';
import parse from 'secure-json-parse';
import { ERRORS } from './errors.js';
import type { Ending, Settlement } from './model.js';
import { Outcome } from './outcome.js';

/**
 * Writes a value as the JSON text that stores keep. A value without JSON becomes null. The column is no `json`, because
 * PostgreSQL rejects NUL characters and deep nesting in it.
 */
export const toStoredJson = (value: unknown): string => JSON.stringify(value) ?? 'null';

/**
 * Parses the text of `toStoredJson`. Leaves out keys named `__proto__`, which could change the prototype of objects that
 * code copies from the value.
 */
export const fromStoredJson = (text: string): unknown =>
  parse(text, null, { protoAction: 'remove', constructorAction: 'ignore' });

/**
 * Writes an outcome as stored text.
 * @throws MillraceError `OUTCOME_INVALID` if it has no JSON.
 */
export function toOutcomeText(outcome: Outcome): string {
  try {
    return toStoredJson(outcome);
  } catch (cause) {
    throw ERRORS.create('OUTCOME_INVALID', { reason: `JSON cannot carry it: ${String(cause)}` }, { cause });
  }
}

/**
 * Writes the outcome of an end as stored text.
 * @throws MillraceError `OUTCOME_INVALID`, also for COMPLETED without an `Ok` and FAILED with one.
 */
export function toEndingText({ state, outcome }: Ending): string {
  if ((state === 'COMPLETED') !== (outcome.type === 'Ok'))
    throw ERRORS.create('OUTCOME_INVALID', { reason: `${state} cannot end with ${outcome.type}` });
  return toOutcomeText(outcome);
}

/**
 * Parses a stored outcome. A corrupt one becomes a `Fail` with `OUTCOME_INVALID`, so that it cannot break a whole list.
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

/** Longest delay of an attempt. A longer one would not fit into the times of every store. */
const DELAY_MAX_MS = 31 * 24 * 3_600_000;

/** Rounds a delay and keeps it within its limits. NaN becomes the longest one. */
export const boundedDelayMs = (delayMs: number): number =>
  Math.round(Math.min(Math.max(Number.isNaN(delayMs) ? DELAY_MAX_MS : delayMs, 0), DELAY_MAX_MS));

const MARK_LENGTH_MAX = 100;

/**
 * Returns a mark that identifies a settlement, so that the store recognises its repetition after a lost reply.
 * @param by - the token of the attempt, or `backing`.
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
  // Most are short, and a digest takes a quarter of the time of a write in memory.
  const short = text.length <= MARK_LENGTH_MAX ? text : createHash('sha256').update(text).digest('base64url');
  return `${by}:${short}`;
}
