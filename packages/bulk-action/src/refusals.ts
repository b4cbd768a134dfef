import { ERRORS as FOUNDATION_ERRORS, type MillraceError, nearestKey, printable } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { GroupKey } from './model.js';
import type { AddAnswer, GroupAnswer, GroupDefinition } from './ports.js';
import { groupIdOf } from './rules/ids.js';
import type { Shard } from './shard-port.js';
import type { GroupStatus } from './states.js';

/** What a step that changes a group came to. */
export interface GroupChange {
  readonly status: GroupStatus;
  /** False when the group was so already. */
  readonly changed: boolean;
}

/**
 * Refuses a value.
 * @param owner - the method.
 * @param option - the option, with its path.
 * @param expected - what would have been right.
 * @param given - what came.
 */
export function optionInvalid(
  owner: string,
  option: string,
  expected: string,
  given: unknown,
): MillraceError {
  const shown = printable(given);
  const quoted = typeof given === 'string' ? `'${shown}'` : shown;
  return FOUNDATION_ERRORS.create('OPTION_INVALID', { owner, option, expected, given: quoted });
}

/**
 * Refuses an option that does not exist.
 * @param owner - the method.
 * @param path - before the option's name.
 * @param option - its name.
 * @param known - the names there are.
 */
export function optionUnknown(
  owner: string,
  path: string,
  option: string,
  known: readonly string[],
): MillraceError {
  const nearest = nearestKey(option, known);
  const hint = nearest ? `; did you mean '${path}${nearest}'?` : `; known: ${known.join(', ')}`;
  return FOUNDATION_ERRORS.create('OPTION_UNKNOWN', { owner, option: path + printable(option), hint });
}

/**
 * Says that there is no such group.
 * @param key - its stored key.
 */
export const groupNotFound = (key: GroupKey): MillraceError =>
  ERRORS.create('GROUP_NOT_FOUND', { group: groupIdOf(key) });

/**
 * Says that there is no such job.
 * @param key - the stored key of its group.
 * @param job - its id.
 */
export const jobNotFound = (key: GroupKey, job: string): MillraceError =>
  ERRORS.create('JOB_NOT_FOUND', { group: groupIdOf(key), job });

/**
 * The change of a group that may have ended before: that is fine, and changes nothing.
 * @param key - its stored key.
 * @param answer - of the store.
 * @throws MillraceError `GROUP_NOT_FOUND`.
 */
export function changeOrEnd(key: GroupKey, answer: GroupAnswer): GroupChange {
  if (answer.kind === 'not-found') throw groupNotFound(key);
  return { status: answer.status, changed: answer.kind === 'done' && answer.changed };
}

/**
 * The change of a group that must not have ended.
 * @param key - its stored key.
 * @param answer - of the store.
 * @throws MillraceError `GROUP_NOT_FOUND`, `GROUP_ENDED`.
 */
export function changeOf(key: GroupKey, answer: GroupAnswer): GroupChange {
  if (answer.kind === 'ended')
    throw ERRORS.create('GROUP_ENDED', { group: groupIdOf(key), status: answer.status });
  return changeOrEnd(key, answer);
}

/** What a shard answers to a new group, and to new jobs. */
export type Made = Awaited<ReturnType<Shard['create']>>;
export type Added = Awaited<ReturnType<Shard['add']>>;

const claimedElsewhere = ({ key }: GroupDefinition): MillraceError =>
  ERRORS.create('BACKEND_UNAVAILABLE', {
    reason: `the group ${groupIdOf(key)} is claimed for another shard; open the store with as many shards as it has`,
  });

/**
 * The answer of a store that is not one of several: there nobody makes claims.
 * @param definition - of the group.
 * @param answer - of the store.
 * @throws MillraceError `BACKEND_UNAVAILABLE`: it is one of several all the same.
 */
export function madeHere(definition: GroupDefinition, answer: Made): Exclude<Made, 'elsewhere'> {
  if (answer === 'elsewhere') throw claimedElsewhere(definition);
  return answer;
}

/**
 * The same for new jobs.
 * @param definition - of their group.
 * @param answer - of the store.
 * @throws MillraceError `BACKEND_UNAVAILABLE`.
 */
export function addedHere(definition: GroupDefinition, answer: Added): AddAnswer {
  if (answer.kind === 'elsewhere') throw claimedElsewhere(definition);
  return answer;
}
