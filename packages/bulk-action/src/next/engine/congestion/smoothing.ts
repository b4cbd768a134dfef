import type { ByteWriter } from '../format/bytes.js';
import { SMOOTHING_KEY, type StoredRecord } from '../format/record.js';
import { packSmoothing, unpackSmoothing } from '../format/smoothing.js';
import type { EngineState } from '../state/state.js';
import { updateSlowness } from './limits.js';

/** Learnt rates, windows and histories are stored at most so often while they change. */
const SMOOTHING_EVERY_MS = 5_000;

/** Returns learnt rates, windows and histories when it is time to store them again. */
export function dueSmoothing(state: EngineState, out: ByteWriter): StoredRecord | undefined {
  const waitMs = state.smoothingDueMs - state.nowMs;
  // A longer wait was set by a clock that has jumped back since.
  if (!state.isSmoothingDirty || (waitMs > 0 && waitMs <= SMOOTHING_EVERY_MS)) return undefined;
  state.isSmoothingDirty = false;
  state.smoothingDueMs = state.nowMs + SMOOTHING_EVERY_MS;
  return packSmoothing(out, state);
}

/** Takes over what the owner before had learnt. @throws FormatError if it is damaged. */
export function restoreSmoothing(state: EngineState, records: readonly StoredRecord[]): void {
  state.smoothingDueMs = state.nowMs + SMOOTHING_EVERY_MS;
  const stored = records.find(({ key }) => key === SMOOTHING_KEY);
  if (!stored) return;
  unpackSmoothing(state, stored.bytes);
  for (const group of state.slowed) updateSlowness(state, group);
}
