import type { GroupRecord } from './records.js';

/**
 * Forgets how a group was held back; counters of throttled tries stay.
 * @returns whether there was anything.
 */
export function forgetSlowness(group: GroupRecord): boolean {
  const { slow, trial, history, lastBackoffMs } = group;
  if (!(slow || trial || history) && lastBackoffMs === 0) return false;
  group.slow = undefined;
  group.trial = undefined;
  group.history = undefined;
  group.lastBackoffMs = 0;
  return true;
}
