import { Repeating } from '@millrace/foundation';
import type { Operation } from './model.js';
import type { OrchestratorParts } from './parts.js';
import { operationFields } from './rules/log-fields.js';
import { isTerminal } from './states.js';

const FINALIZED_AT_ONCE = 100;

/**
 * Makes outcomes final that were written ahead: of cancelled operations with work behind them. The work is told first, so that a cancellation
 * is never half done, whoever dies in between.
 */
export class Finalizer {
  readonly #parts: OrchestratorParts;
  readonly #finalizing: Repeating;

  /** @param parts - of the orchestrator. */
  constructor(parts: OrchestratorParts) {
    this.#parts = parts;
    const { clock, rng, logger, finalizerIntervalMs } = parts.options;
    this.#finalizing = new Repeating(
      { clock, rng, logger, what: 'Making outcomes final', everyMs: finalizerIntervalMs, unref: true },
      () => this.#finalizeAll(),
    );
  }

  /** Begins. */
  start(): void {
    this.#finalizing.start();
  }

  /** Ends. */
  stop(): Promise<void> {
    return this.#finalizing.stop();
  }

  /**
   * Tells the work behind an operation to end, then makes its outcome final. May be repeated.
   * @param operation - its outcome is written ahead.
   * @returns the operation afterwards; undefined when this instance does not know its kind of work.
   */
  async finalize(operation: Operation): Promise<Operation | undefined> {
    const { options, events, waits } = this.#parts;
    const { store, executor } = options;
    const { opId, domain, eventType } = operation;
    const kind =
      operation.backing?.kind ??
      executor.traits?.({ domain, eventType, bizKey: '', idemKey: '', payload: null }).kind;
    const port = kind === undefined ? undefined : executor.backings?.get(kind);
    if (!port) return undefined;
    await port.cancel(operation);
    const answer = await store.repairs.finalize(opId);
    if (answer.operation && isTerminal(answer.operation.state)) {
      waits.tell(answer.operation);
      if (answer.kind === 'settled') {
        events.emit('ended', { operation: answer.operation });
        if (answer.waited) store.notices.tell(opId);
      }
    }
    return answer.operation;
  }

  async #finalizeAll(): Promise<void> {
    const { options, events } = this.#parts;
    for (const operation of await options.store.repairs.ahead(FINALIZED_AT_ONCE)) {
      try {
        const { opId } = operation;
        const after = await this.finalize(operation);
        if (after && isTerminal(after.state))
          events.emit('repaired', { by: 'finalizer', opId, became: after.state });
      } catch (error) {
        // One whose backing does not answer must not keep the others waiting.
        options.logger.warn(
          { ...operationFields(operation), reason: String(error) },
          'An outcome could not be made final yet',
        );
      }
    }
  }
}
