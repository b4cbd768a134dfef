import type { GroupKey } from '../model.js';

/*
 * A group lives in the shard of its fairness unit, which may be any name; its home is the shard of the unit that it has unless
 * another one is given. So most groups are found by their key alone.
 */

/** How long a claim without a group is left alone: its maker may be about to make the group. No call takes nearly as long. */
export const CLAIM_GRACE_MS = 600_000;

/**
 * The name whose shard is the home of a group.
 * @param key - `tenant/id`.
 * @returns its namespace; where that is '' its id.
 */
export function homeNameOf(key: GroupKey): string {
  const at = key.indexOf('/');
  return at > 0 ? key.slice(0, at) : key.slice(at + 1);
}
