import { decide } from '../changes/decide.js';
import { moveLearnt } from '../congestion/clock.js';
import { unpark } from '../fair/order.js';
import { watchGroup } from '../run/watch.js';
import type { Group, Tenant } from '../state/records.js';
import type { EngineState } from '../state/state.js';

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
