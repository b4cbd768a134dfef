import { Repeating } from '@millrace/foundation';
import type { Operation } from './model.js';
import type { OpId } from './op-id.js';
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
  #isStopped = false;

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
    this.#isStopped = false;
    this.#finalizing.start();
  }

  /** Ends. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#finalizing.stop();
  }

  /**
   * Tells the work behind an operation to end, then makes its outcome final. May be repeated.
   * @returns the operation afterwards; undefined when this instance does not know its kind of work.
   */
  async finalize(operation: Operation): Promise<Operation | undefined> {
    const { options, events, waits } = this.#parts;
    const { store, executor } = options;
    const { opId, domain, eventType } = operation;
    const kind = operation.backing?.kind ?? executor.traits?.({ domain, eventType }).kind;
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

  /** To the end of the list: those that cannot be finished yet stay in it, and must not keep the others waiting. */
  async #finalizeAll(): Promise<void> {
    const { repairs } = this.#parts.options.store;
    for (let after: OpId | undefined; ; ) {
      const operations = await repairs.ahead(FINALIZED_AT_ONCE, after);
      for (const operation of operations) {
        // The next one may wait long for a part that is away; another instance goes on.
        if (this.#isStopped) return;
        await this.#tryOne(operation);
      }
      const last = operations.at(-1)?.opId;
      // The same page again: a store of somebody's own that does not know `after`.
      if (operations.length < FINALIZED_AT_ONCE || last === after) return;
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
      options.logger.warn(
        { ...operationFields(operation), reason: String(error) },
        'An outcome could not be made final yet',
      );
    }
  }
}
