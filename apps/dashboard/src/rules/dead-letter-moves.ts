import { ProblemError } from '@millrace/contract/server-client';
import { counted, countText } from './amounts.js';

/** What can be done with dead letters. */
export type LetterMove = 'redrive' | 'purge';

/** One dead letter. */
export interface LetterId {
  readonly groupId: string;
  readonly jobId: string;
}

/** Which dead letters: one of these. */
export type LetterSelection =
  | { readonly ids: readonly LetterId[] }
  | { readonly groupId: string; readonly signature?: string }
  | { readonly signature: string }
  | { readonly all: true };

/**
 * All letters of one cause; of one group only where one is looked at.
 * @param groupId - of the group; undefined: in all of them.
 */
export const causeSelection = (signature: string, groupId: string | undefined): LetterSelection =>
  groupId === undefined ? { signature } : { groupId, signature };

/** The most that one request names by id: DEAD_LETTER_IDS_MAX of the contract, which a test compares. */
export const LETTER_IDS_MAX = 200;

const VERBS = { redrive: 'Redrive', purge: 'Purge' } as const;

/** What is asked before dead letters are moved. */
export interface MoveQuestion {
  readonly title: string;
  readonly confirm: string;
  readonly consequence: string;
}

/** What is asked before dead letters are moved, with how many they are. */
export function moveQuestion(move: LetterMove, count: number): MoveQuestion {
  const isOne = count === 1;
  const consequence =
    move === 'redrive'
      ? isOne
        ? 'It goes back to the queue with fresh tries. If its group has ended, it opens another round.'
        : 'They go back to the queue with fresh tries. Groups that have ended open another round.'
      : isOne
        ? 'It is gone for good, with its payload. Its job stays failed.'
        : 'They are gone for good, with their payloads. Their jobs stay failed.';
  return {
    title: `${VERBS[move]} ${counted(count, 'dead letter')}?`,
    confirm: `${VERBS[move]} ${countText(count)}`,
    consequence,
  };
}

/**
 * What is said when dead letters have been moved. Others may have moved some of them first.
 * @param moved - how many it were.
 * @param expected - how many it should have been.
 */
export function movedText(move: LetterMove, moved: number, expected: number): string {
  const letters = counted(moved, 'dead letter');
  const happened =
    move === 'redrive'
      ? `${letters} went back to the queue.`
      : `${letters} ${moved === 1 ? 'is' : 'are'} gone for good.`;
  const missed = expected - moved;
  return missed > 0
    ? `${happened} ${countText(missed)} ${missed === 1 ? 'was' : 'were'} no longer there.`
    : happened;
}

/**
 * What is said when others have come or gone between the look and the decision.
 * @param count - how many there are now.
 * @param expected - how many it should have been.
 */
export function changedText(count: number, expected: number): string {
  if (count === 0) return 'None of them is there any more. Nothing was moved.';
  // Some went and others came while they were counted.
  if (count === expected) return 'Their number is changing. Nothing was moved.';
  return `There ${count === 1 ? 'is' : 'are'} now ${countText(count)}, not ${countText(expected)}. Nothing was moved.`;
}

/** Refusals of a server that fails: before anything was moved. */
const NOTHING_MOVED: readonly string[] = ['AUDIT_UNAVAILABLE'];

/**
 * What came of a request that failed: refused because the number is another, refused for another reason, or nobody knows.
 */
export function moveFailure(error: unknown): 'changed' | 'refused' | 'unknown' {
  if (!(error instanceof ProblemError)) return 'unknown';
  if (error.code === 'COUNT_CHANGED') return 'changed';
  return error.status < 500 || NOTHING_MOVED.includes(error.code) ? 'refused' : 'unknown';
}

/** What is said when nobody knows what came of a request. */
export const uncertainText = (problem: string): string =>
  `${problem.replace(/\.$/, '')}. Some may have been moved.`;
