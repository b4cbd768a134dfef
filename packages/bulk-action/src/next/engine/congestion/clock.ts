import { newAttribution, newStamps } from '../../../rules/attribution.js';
import type { CongestionState } from '../../../rules/congestion.js';
import { moveRate } from '../changes/apply-groups.js';
import type { EngineState } from '../state/state.js';

const CONGESTION_TIMES = [
  'cutAtMs',
  'quietFromMs',
  'grownAtMs',
  'frozenAtMs',
  'missingFromMs',
  'slotMs',
] as const;
const VEGAS_TIMES = ['windowAtMs', 'drainUntilMs', 'cutAtMs'] as const;

/** What was learnt moves with the store's clock. Attribution begins anew. */
export function moveLearnt(state: EngineState, deltaUs: number): void {
  const { nowUs } = state;
  const deltaMs = Math.round(deltaUs / 1000);
  for (const resource of state.resources.values()) {
    moveCongestion(resource.congestion, deltaMs);
    if (resource.vegas) moveTimes(resource.vegas, VEGAS_TIMES, deltaMs);
    if (resource.learnt) moveRate(resource.learnt, nowUs, deltaUs);
    moveTimes(resource, ['frozenUntilMs'], deltaMs);
    Object.assign(resource.attribution, newAttribution());
  }
  for (const group of state.groups.values()) {
    Object.assign(group.stamps, newStamps());
    group.trial = undefined;
    if (!group.slow) continue;
    moveCongestion(group.slow.congestion, deltaMs);
    moveTimes(group.slow, ['frozenUntilMs'], deltaMs);
    if (group.slow.rate) moveRate(group.slow.rate, nowUs, deltaUs);
  }
  state.smoothingDueMs = Math.min(state.smoothingDueMs, state.nowMs);
  state.isSmoothingDirty = true;
}

const moveCongestion = (congestion: CongestionState, deltaMs: number): void =>
  moveTimes(congestion, CONGESTION_TIMES, deltaMs);

/** 0 stands for never. */
function moveTimes<K extends string>(times: Record<K, number>, names: readonly K[], deltaMs: number): void {
  for (const name of names) if (times[name] > 0) times[name] = Math.max(0, times[name] + deltaMs) as never;
}
