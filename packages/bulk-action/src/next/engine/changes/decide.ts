import type { Change } from '../state/change.js';
import type { EngineState } from '../state/state.js';
import { applyChange } from './apply-change.js';

/** Makes a change: applies it, and writes it into the note of the next commit. */
export function decide(state: EngineState, change: Change): void {
  applyChange(state, change, { seq: state.seq + 1, epoch: state.shard.epoch });
  state.changes.push(change);
}
