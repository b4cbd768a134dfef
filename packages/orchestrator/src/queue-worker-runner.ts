import { type Loop, loop } from '@millrace/foundation';
import type { OrchestratorParts } from './parts.js';

/**
 * Claims and runs due operations that have no owner: retries, and those of instances that died.
 */
export class QueueWorkerRunner {
  readonly #parts: OrchestratorParts;
  /** Polls for due operations. Trigger it when one becomes due. What it began runs on after its stop. */
  readonly loop: Loop;
  #running = 0;

  constructor(parts: OrchestratorParts) {
    this.#parts = parts;
    const { options } = parts;
    this.loop = loop(options, 'Claim due operations', options.worker.pollIntervalMs, () => this.#claim());
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
    // A full batch: there may be more.
    if (claimed.length === limit && this.#running < worker.concurrency) this.loop.trigger();
  }

  #ended(): void {
    const wasFull = this.#running >= this.#parts.options.worker.concurrency;
    this.#running--;
    if (wasFull) this.loop.trigger();
  }
}
