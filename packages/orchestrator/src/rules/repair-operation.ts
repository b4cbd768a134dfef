import { ERRORS } from '../errors.js';
import { Outcome } from '../outcome.js';
import { toOutcomeText } from '../stored-json.js';
import { NO_PLACE, type OperationRecord } from './operation-record.js';
import { begin } from './own-operation.js';
import { CANCELLED, end, type WrittenEnding, waiting } from './settle-operation.js';

const lostText = (why: string): string =>
  toOutcomeText(Outcome.fail('OPERATION_LOST', ERRORS.create('OPERATION_LOST', { why }).message));

/** Outcomes of operations whose owner died and that must not run again. */
export const LOST_TEXTS = Object.freeze({
  atMostOnce: lostText('its route says onLost: fail'),
  spent: lostText('its tries are spent'),
});

/** Reports whether an operation has a backing, or may have one. */
const isBackable = ({ backing, traits }: OperationRecord): boolean =>
  backing !== undefined || traits.kind !== 'inline';

/**
 * Ends an operation whose backing has ended. The kind of its route is enough, because a backing may end before it is stored.
 * @returns the new record, the same one if this end is already written, or undefined if it is rejected.
 */
export function endBacked(
  record: OperationRecord | undefined,
  ending: WrittenEnding,
  mark: string,
  now: number,
): OperationRecord | undefined {
  if (record?.settledAs === mark) return record;
  if (record === undefined || record.endedAt !== undefined || !isBackable(record)) return undefined;
  return end({ ...record, settledAs: mark }, ending, now);
}

/**
 * Lets an operation whose backing is gone wait for another attempt.
 * @returns undefined if it has no backing or is cancelled.
 */
export function dropBacking(record: OperationRecord | undefined, now: number): OperationRecord | undefined {
  if (record?.backing === undefined || record.endedAt !== undefined || record.ahead) return undefined;
  return waiting({ ...record, ...NO_PLACE, backing: undefined, updatedAt: now }, 0, now);
}

/**
 * Cancels an operation: ends it, or writes the outcome ahead if a backing has to be cancelled first.
 * @param outcomeText - of `CANCELLED`.
 * @returns the new record, the same one if it was cancelled before, or undefined if it had ended with another outcome.
 */
export function cancel(
  record: OperationRecord,
  outcomeText: string,
  now: number,
): OperationRecord | undefined {
  if (record.ahead) return record;
  if (record.endedAt !== undefined) return undefined;
  const cancelled: OperationRecord = { ...record, ahead: true, outcomeText, updatedAt: now };
  if (!isBackable(record)) return end(cancelled, { ...CANCELLED, outcomeText }, now);
  // No further attempt. An owner may be handing it over now and keeps it until that has ended.
  return { ...cancelled, dueFrom: undefined, dueAt: undefined };
}

/**
 * Ends an operation with its outcome written ahead. Not while it has an owner, whose work may begin after it was cancelled.
 * @returns the new record, the same one if it was final before, or undefined if it is rejected.
 */
export function finalize(record: OperationRecord | undefined, now: number): OperationRecord | undefined {
  if (!record?.ahead) return undefined;
  if (record.endedAt !== undefined) return record;
  return record.owner === undefined
    ? end(record, { ...CANCELLED, outcomeText: record.outcomeText }, now)
    : undefined;
}

/**
 * Releases an operation whose lease expired. It waits for another attempt, or fails if it must not have one.
 */
export function reap(record: OperationRecord, now: number): OperationRecord {
  const { ahead, traits, attempts } = record;
  const lost = (outcomeText: string) => end(record, { state: 'FAILED', outcomeText, deadLetter: true }, now);
  if (!ahead && traits.onLost === 'fail') return lost(LOST_TEXTS.atMostOnce);
  if (!ahead && attempts >= traits.attemptsMax) return lost(LOST_TEXTS.spent);
  // Its attempt is counted, so it has begun, even if its owner did not write that any more.
  return waiting({ ...begin(record, now), ...NO_PLACE, updatedAt: now }, 0, now);
}
