import { Repeating } from '@millrace/foundation';
import type { ResolvedOrchestratorOptions } from './options.js';

const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 1_000;

/** Deletes operations that ended long ago. */
export class Pruner {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #pruning: Repeating;

  constructor(options: ResolvedOrchestratorOptions) {
    this.#options = options;
    const { clock, rng, logger } = options;
    this.#pruning = new Repeating(
      { clock, rng, logger, what: 'Deleting old operations', everyMs: PRUNE_EVERY_MS, unref: true },
      () => this.#prune(),
    );
  }

  /** Begins, unless everything is kept for ever. */
  start(): void {
    if (this.#options.retentionMs > 0) this.#pruning.start();
  }

  /** Ends. */
  stop(): Promise<void> {
    return this.#pruning.stop();
  }

  async #prune(): Promise<void> {
    const { store, retentionMs } = this.#options;
    while ((await store.repairs.prune(retentionMs, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE);
  }
}
