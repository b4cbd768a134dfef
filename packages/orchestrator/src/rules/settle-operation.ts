import type { Settlement } from '../ports.js';
import { type FinalState, StateTransition } from '../states.js';
import { boundedDelayMs } from '../stored-json.js';
import { NO_PLACE, type OperationRecord } from './operation-record.js';
import { begin, isOwnedBy } from './own-operation.js';

/** A settlement as a store writes it. */
export interface WrittenSettlement {
  readonly settlement: Settlement;
  /** Of its outcome, if it has one. */
  readonly outcomeText: string | undefined;
  /** See `settlementMark`. */
  readonly mark: string;
}

/** An end as a store writes it. */
export interface WrittenEnding {
  readonly state: FinalState;
  readonly outcomeText: string | undefined;
  readonly deadLetter: boolean;
}

/**
 * Ends an operation. What has not started passes through IN_PROGRESS; an outcome written ahead stands.
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

/** How a cancelled operation ends. */
export const CANCELLED = Object.freeze({ state: 'FAILED', deadLetter: false } as const);

/**
 * Writes what came of a try. With an outcome written ahead nothing more is tried: the Finalizer ends it, or this settlement does.
 * @param record - if there is one.
 * @returns the record as it becomes; the same when this very settlement was written before; undefined when it is refused.
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
 * Lets an operation wait for its next try; one with an outcome written ahead gets none.
 * @param record - without an owner.
 */
export const waiting = (record: OperationRecord, delayMs: number, now: number): OperationRecord =>
  record.ahead ? record : { ...record, dueFrom: now, dueAt: now + delayMs };
