import type { Settlement } from '../model.js';
import { type FinalState, StateTransition } from '../states.js';
import { boundedDelayMs, settlementMark, toEndingText, toOutcomeText } from '../stored-json.js';
import { NO_PLACE, type OperationRecord } from './operation-record.js';
import { begin, isOwnedBy } from './own-operation.js';

/** A settlement in the form in which stores write it. */
export interface WrittenSettlement {
  readonly settlement: Settlement;
  /** Text of its outcome, if it has one. */
  readonly outcomeText: string | undefined;
  /** See `settlementMark`. */
  readonly mark: string;
}

/**
 * Prepares a settlement for a store.
 * @param by - the token of the attempt, or `backing` for the end of the work behind an operation.
 * @throws MillraceError `OUTCOME_INVALID`.
 */
export function writtenSettlement(by: number | 'backing', settlement: Settlement): WrittenSettlement {
  const outcomeText =
    settlement.kind === 'final'
      ? toEndingText(settlement)
      : settlement.kind === 'retry'
        ? toOutcomeText(settlement.outcome)
        : undefined;
  return { settlement, outcomeText, mark: settlementMark(by, settlement, outcomeText) };
}

/** An end in the form in which stores write it. */
export interface WrittenEnding {
  readonly state: FinalState;
  readonly outcomeText: string | undefined;
  readonly deadLetter: boolean;
}

/**
 * Ends an operation. A PENDING one passes through IN_PROGRESS. An outcome written ahead stands.
 * @param record - not ended.
 * @throws MillraceError `TRANSITION_INVALID` for one that has ended.
 */
export function end(record: OperationRecord, ending: WrittenEnding, now: number): OperationRecord {
  const begun = begin(record, now);
  const { state, outcomeText, deadLetter } = record.ahead
    ? { ...CANCELLED, outcomeText: record.outcomeText }
    : ending;
  StateTransition.validate(begun.state, state);
  return { ...begun, ...NO_PLACE, state, outcomeText, deadLetter, updatedAt: now, endedAt: now };
}

/** The end of a cancelled operation. */
export const CANCELLED = Object.freeze({ state: 'FAILED', deadLetter: false } as const);

/**
 * Settles an attempt. With an outcome written ahead there is no other attempt: the Finalizer or this settlement ends it.
 * @returns the new record, the same one if this settlement is already written, or undefined if it is rejected.
 */
export function settle(
  record: OperationRecord | undefined,
  token: number,
  { settlement, outcomeText, mark }: WrittenSettlement,
  now: number,
): OperationRecord | undefined {
  if (record?.settledAs === mark) return record;
  if (!isOwnedBy(record, token)) return undefined;
  const settled: OperationRecord = { ...record, settledAs: mark };
  if (settlement.kind === 'final') {
    const { state, deadLetter } = settlement;
    return end(settled, { state, deadLetter, outcomeText }, now);
  }
  const free: OperationRecord = { ...settled, ...NO_PLACE, updatedAt: now };
  if (settlement.kind === 'backed') return { ...begin(free, now), backing: settlement.backing };
  const isUncounted = settlement.kind === 'released' || settlement.refused;
  const counted = isUncounted ? { ...free, attempts: free.attempts - 1 } : free;
  if (settlement.kind === 'released') return waiting(counted, 0, now);
  const { refused, delayMs } = settlement;
  const tried = begin(refused ? { ...counted, refusals: counted.refusals + 1 } : counted, now);
  return record.ahead ? tried : waiting({ ...tried, outcomeText }, boundedDelayMs(delayMs), now);
}

/**
 * Lets an operation wait for its next attempt. One with an outcome written ahead gets none.
 * @param record - without an owner.
 */
export const waiting = (record: OperationRecord, delayMs: number, now: number): OperationRecord =>
  record.ahead ? record : { ...record, dueFrom: now, dueAt: now + delayMs };
