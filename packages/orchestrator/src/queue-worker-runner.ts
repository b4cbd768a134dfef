import { Repeating } from '@millrace/foundation';
import type { OrchestratorParts } from './parts.js';

/**
 * Runs operations without an owner whose next try is due: retries, and what an instance that died has left. Looks from time to time, and as soon as
 * something becomes due here.
 */
export class QueueWorkerRunner {
  readonly #parts: OrchestratorParts;
  readonly #looking: Repeating;
  #running = 0;
  #stopped = true;

  constructor(parts: OrchestratorParts) {
    this.#parts = parts;
    const { clock, rng, logger, worker } = parts.options;
    this.#looking = new Repeating(
      { clock, rng, logger, what: 'Looking for operations', everyMs: worker.pollIntervalMs },
      () => this.#claim(),
    );
  }

  /** Begins to look for operations. */
  start(): void {
    this.#stopped = false;
    this.#looking.start();
  }

  /** Looks now. */
  wake(): void {
    this.#looking.now();
  }

  /** Takes no more; what runs is ended with the other tries of this instance. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking.stop();
  }

  async #claim(): Promise<void> {
    const { options, attempts, events } = this.#parts;
    const { store, owner, leaseMs, worker, executor } = options;
    const limit = Math.min(worker.batchSize, worker.concurrency - this.#running);
    if (limit <= 0) return;
    const routes = executor.routeNames;
    const claimed = await store.runs.claim({ owner, leaseMs, limit, ...(routes && { routes }) });
    for (const operation of claimed) {
      this.#running++;
      events.emit('repaired', { by: 'runner', opId: operation.opId, became: `try ${operation.attempt}` });
      attempts.begin(operation, () => this.#ended());
    }
    // As many as asked for: there may be more.
    if (claimed.length === limit && this.#running < worker.concurrency && !this.#stopped) this.#looking.now();
  }

  #ended(): void {
    const wasFull = this.#running >= this.#parts.options.worker.concurrency;
    this.#running--;
    if (wasFull && !this.#stopped) this.#looking.now();
  }
}
