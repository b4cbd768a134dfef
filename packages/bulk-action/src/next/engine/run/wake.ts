import type { GatePass } from '../fair/gate-pass.js';
import type { EngineState } from '../state/state.js';
import { aggregationDueMs } from './assign-aggregations.js';

/**
 * Returns when the next commit is worth a try though nothing else has happened, in µs: a token comes, a pause of a
 * service ends, a delayed job is due or a group times out. Infinity means never.
 * @param pass - the last pass over the gate.
 */
export function nextWakeUs(state: EngineState, { blocked, globalSlotUs }: GatePass): number {
  let wakeUs = globalSlotUs || Infinity;
  // A resource at its cap has no slot: a job of it must end first.
  for (const slotUs of blocked.values()) if (slotUs > 0) wakeUs = Math.min(wakeUs, slotUs);
  const parkedUs = state.parked.peek()?.parkedUntilUs;
  if (parkedUs !== undefined) wakeUs = Math.min(wakeUs, parkedUs);
  const dueMs = state.isDispatching ? state.delayed.peek()?.dueMs : undefined;
  if (dueMs !== undefined) wakeUs = Math.min(wakeUs, dueMs * 1000);
  const watchMs = state.watched.peek()?.watchMs;
  if (watchMs !== undefined) wakeUs = Math.min(wakeUs, watchMs * 1000);
  return Math.min(wakeUs, aggregationDueMs(state) * 1000);
}
