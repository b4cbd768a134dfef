import { ERRORS } from '../errors.js';
import { Outcome } from '../outcome.js';
import { toOutcomeText } from '../stored-json.js';
import { NO_PLACE, type OperationRecord } from './operation-record.js';
import { begin } from './own-operation.js';
import { CANCELLED, end, type WrittenEnding, waiting } from './settle-operation.js';

const lostText = (why: string): string =>
  toOutcomeText(Outcome.fail('OPERATION_LOST', ERRORS.create('OPERATION_LOST', { why }).message));

/** What is written for operations whose owner died and that must not run again. */
export const LOST_TEXTS = Object.freeze({
  atMostOnce: lostText('its route says onLost: fail'),
  spent: lostText('its tries are spent'),
});

/** Whether other work stands, or may stand, behind an operation. */
const isBackable = ({ backing, traits }: OperationRecord): boolean =>
  backing !== undefined || traits.kind !== 'inline';

/**
 * Ends an operation whose backing has ended. The backing may be quicker than the step that notes it, so the kind of route is enough.
 * @param record - if there is one.
 * @returns the record as it becomes; the same when this very end was written before; undefined when it is refused.
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
 * The work behind an operation is gone: it waits for another try.
 * @param record - if there is one.
 * @returns undefined when nothing stands behind it, or it is to end as cancelled anyhow.
 */
export function dropBacking(record: OperationRecord | undefined, now: number): OperationRecord | undefined {
  if (record?.backing === undefined || record.endedAt !== undefined || record.ahead) return undefined;
  return waiting({ ...record, ...NO_PLACE, backing: undefined, updatedAt: now }, 0, now);
}

/**
 * Cancels an operation: ends it, or writes the outcome ahead where a backing has to be told first.
 * @param outcomeText - `CANCELLED`.
 * @returns the record as it becomes; the same when it was cancelled before; undefined when it had ended in another way.
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
  // Nobody is to try it again. Its owner, if it has one, may be handing it over right now, and keeps it until it knows.
  return { ...cancelled, dueFrom: undefined, dueAt: undefined };
}

/**
 * Makes an outcome that was written ahead final. Not while somebody owns the operation: the work behind it may begin after it was told to end.
 * @param record - if there is one.
 * @returns the record as it becomes; the same when it was final before; undefined when it is refused.
 */
export function finalize(record: OperationRecord | undefined, now: number): OperationRecord | undefined {
  if (!record?.ahead) return undefined;
  if (record.endedAt !== undefined) return record;
  return record.owner === undefined
    ? end(record, { ...CANCELLED, outcomeText: record.outcomeText }, now)
    : undefined;
}

/**
 * Frees an operation of an owner whose lease has ended: it waits for another try, or fails where it must not have one.
 * @param record - owned.
 */
export function reap(record: OperationRecord, now: number): OperationRecord {
  const { ahead, traits, attempts } = record;
  const lost = (outcomeText: string) => end(record, { state: 'FAILED', outcomeText, deadLetter: true }, now);
  if (!ahead && traits.onLost === 'fail') return lost(LOST_TEXTS.atMostOnce);
  if (!ahead && attempts >= traits.attemptsMax) return lost(LOST_TEXTS.spent);
  // Its try is counted, so it has begun, whether its owner still wrote that or not.
  return waiting({ ...begin(record, now), ...NO_PLACE, updatedAt: now }, 0, now);
}
