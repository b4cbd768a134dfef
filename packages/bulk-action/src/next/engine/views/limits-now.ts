import { defaultBurst, emissionUs, nextSlotUs } from '@millrace/foundation';
import { limitAt } from '../../../rules/congestion.js';
import { concurrencyAt } from '../../../rules/vegas.js';
import type { Group, Resource } from '../state/records.js';
import type { Rate } from '../state/scope.js';
import type { EngineState } from '../state/state.js';

/*
 * Learnt limits as they are at this moment. The engine brings them up to date when a turn meets them; a view must not change
 * them, so it calculates on copies.
 */

/** What a service allows now, learnt from its refusals. */
export interface LearntLimits {
  /** Undefined means no learnt rate. */
  readonly rate: Rate | undefined;
  readonly concurrency: number | undefined;
  readonly frozenUntilMs: number;
}

const NOTHING: LearntLimits = { rate: undefined, concurrency: undefined, frozenUntilMs: 0 };

/** Returns what a service allows to all. */
export function learntOf(state: EngineState, resource: Resource): LearntLimits {
  if (!state.config.congestion.enabled) return NOTHING;
  const { congestion, learnt, settings, vegas } = resource;
  const limit = limitAt({ ...congestion }, state.nowMs, settings);
  return {
    rate: rateNow(state, learnt, limit),
    concurrency: vegas && concurrencyAt(vegas, state.nowMs),
    frozenUntilMs: limit.frozenUntilMs,
  };
}

/** Returns what a service allows to a group that it slows alone. */
export function slownessOf(state: EngineState, { slow }: Group): LearntLimits {
  if (!slow || slow.resource.flips !== slow.flips) return NOTHING;
  const limit = limitAt({ ...slow.congestion }, state.nowMs);
  return {
    rate: rateNow(state, slow.rate, limit),
    concurrency: undefined,
    frozenUntilMs: limit.frozenUntilMs,
  };
}

function rateNow(
  { nowUs, nowMs, config }: EngineState,
  before: Rate | undefined,
  { rps, frozenUntilMs }: ReturnType<typeof limitAt>,
): Rate | undefined {
  if (rps === undefined) return undefined;
  const burst = defaultBurst(rps);
  const fullUs = burst * emissionUs(rps);
  const tatUs = Math.max(
    before?.tatUs ?? nowUs + fullUs,
    frozenUntilMs > nowMs ? frozenUntilMs * 1000 + fullUs : 0,
  );
  return { rps, burst, tatUs, costMax: config.limits.costMax };
}

/** Returns when a bucket has its token for a start of this cost, after what ready jobs have set aside. */
export const slotIn = (rate: Rate | undefined, nowUs: number, cost: number, readyCost: number): number =>
  rate ? nextSlotUs(rate, nowUs, cost, readyCost) : 0;
