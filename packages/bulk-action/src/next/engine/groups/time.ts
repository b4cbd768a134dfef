import { decide } from '../changes/apply-change.js';
import { moveLearnt } from '../congestion/clock.js';
import { refresh, unpark } from '../fair/order.js';
import { completeRound } from '../run/end.js';
import { watchFinding, watchGroup } from '../run/watch.js';
import type { Group, Tenant } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { cutGroup } from './commands.js';
import { sendRecalls } from './notices.js';

/** Groups that one commit looks at. */
const LOOKS_MAX = 1_000;

/**
 * Looks at the groups that are due. Ends rounds without progress, past their deadlines, and of open groups that have been idle. A
 * group whose `notBefore` has come begins.
 */
export function watchDue(state: EngineState): void {
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const group = state.watched.peek();
    if (!group || group.watchMs > state.nowMs) return;
    const finding = watchFinding(state, group);
    if (finding === 'IDLE') completeRound(state, group);
    else if (finding) sendRecalls(state, { recalls: cutGroup(state, group, 'FAILED', finding) });
    else refresh(state, group);
    watchGroup(state, group);
  }
}

/** Follows the store's clock after a jump. What waits for a duration waits as long as before, also if the clock went back. */
export function jumpClock(state: EngineState, deltaUs: number, nowUs: number): void {
  state.nowUs = nowUs;
  decide(state, { kind: 'clock', atUs: nowUs, deltaUs });
  moveLearnt(state, deltaUs);
  for (const scope of [...state.parked.items]) unpark(state, scope as Group | Tenant);
  // All keys of the heap have changed.
  const delayed = [...state.delayed.items];
  for (const job of delayed) state.delayed.remove(job);
  for (const job of delayed) state.delayed.put(job);
  for (const group of state.groups.values()) watchGroup(state, group);
}
