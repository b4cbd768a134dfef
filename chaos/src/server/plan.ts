import type { Rng } from '@millrace/foundation';
import type { ServerScale } from './settings.js';

/** One campaign that somebody wants. */
export interface PlannedCampaign {
  /** Its idempotency key. */
  readonly key: string;
  readonly customers: number;
  /** When it is asked for, counted from the beginning. */
  readonly dueMs: number;
  readonly budgetMs: number;
  /** Whether somebody asks for it twice, at both doors at once. */
  readonly twice: boolean;
}

/**
 * Draws the campaigns of a run.
 * @param scale - how many, how large, in which time.
 */
export const drawCampaigns = (rng: Rng, scale: ServerScale): readonly PlannedCampaign[] =>
  Array.from({ length: scale.campaigns }, (_, n) => ({
    key: `campaign-${n + 1}`,
    customers: rng.integer(...scale.customers),
    dueMs: rng.integer(0, scale.arrivalMs),
    budgetMs: rng.pick([50, 200, 1000]),
    twice: n % 3 === 0,
  }));
