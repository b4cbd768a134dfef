import { type Loop, loop } from '@millrace/foundation';
import { type Operation, operationFields } from './model.js';
import type { OpId } from './op-id.js';
import type { OrchestratorParts } from './parts.js';
import { isTerminal } from './states.js';

const FINALIZE_LIMIT = 100;

/**
 * Finalizes cancelled operations that have a backing: their outcome is stored ahead. The backing is cancelled first, so that
 * a cancellation is never half done if this instance dies in between.
 */
export class Finalizer {
  readonly #parts: OrchestratorParts;
  readonly #loop: Loop;
  #isStopped = false;

  constructor(parts: OrchestratorParts) {
    this.#parts = parts;
    const { options } = parts;
    const finalize = () => this.#finalizeAll();
    this.#loop = loop(options, 'Finalize cancelled operations', options.finalizerIntervalMs, finalize, {
      unref: true,
    });
  }

  start(): void {
    this.#isStopped = false;
    this.#loop.start();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#loop.stop();
  }

  /**
   * Cancels the backing of an operation, then finalizes its outcome. Safe to repeat.
   * @returns the operation afterwards, or undefined if this instance has no adapter for its backing.
   */
  async finalize(operation: Operation): Promise<Operation | undefined> {
    const { options, waits } = this.#parts;
    const { store, executor } = options;
    const { opId, domain, eventType } = operation;
    const kind = operation.backing?.kind ?? executor.traits?.({ domain, eventType }).kind;
    const port = kind === undefined ? undefined : executor.backings?.get(kind);
    if (!port) return undefined;
    await port.cancel(operation);
    const answer = await store.repairs.finalize(opId);
    waits.announceEnd(answer);
    return answer.operation;
  }

  /** Reads the list to its end: operations that cannot be finalized yet stay in it and must not block the others. */
  async #finalizeAll(): Promise<void> {
    const { repairs } = this.#parts.options.store;
    for (let after: OpId | undefined; ; ) {
      const operations = await repairs.ahead(FINALIZE_LIMIT, after);
      for (const operation of operations) {
        // The next one may wait long for an unavailable backing. Another instance continues.
        if (this.#isStopped) return;
        await this.#tryOne(operation);
      }
      const last = operations.at(-1)?.opId;
      // A custom store that ignores `after` returns the same page again.
      if (operations.length < FINALIZE_LIMIT || last === after) return;
      after = last;
    }
  }

  async #tryOne(operation: Operation): Promise<void> {
    const { options, events } = this.#parts;
    const { opId } = operation;
    try {
      const after = await this.finalize(operation);
      if (after && isTerminal(after.state))
        events.emit('repaired', { by: 'finalizer', opId, became: after.state });
    } catch (error) {
      const fields = { ...operationFields(operation), reason: String(error) };
      options.logger.warn(fields, 'Cancelled operation not finalized, will retry');
    }
  }
}
