import { Repeating } from '@millrace/foundation';
import type { Operation } from './model.js';
import type { OrchestratorParts } from './parts.js';
import { operationFields } from './rules/log-fields.js';

const REAPED_AT_ONCE = 100;

/** Frees operations of instances that fell silent: only that. Whoever claims them goes on; those that must not run again fail. */
export class Reaper {
  readonly #parts: OrchestratorParts;
  readonly #reaping: Repeating;
  readonly #onReleased: () => void;

  /** @param onReleased - told when operations became due. */
  constructor(parts: OrchestratorParts, onReleased: () => void) {
    this.#parts = parts;
    this.#onReleased = onReleased;
    const { clock, rng, logger, reaperIntervalMs } = parts.options;
    this.#reaping = new Repeating(
      {
        clock,
        rng,
        logger,
        what: 'Freeing operations of silent instances',
        everyMs: reaperIntervalMs,
        unref: true,
      },
      () => this.#reap(),
    );
  }

  /** Begins. */
  start(): void {
    this.#reaping.start();
  }

  /** Ends. */
  stop(): Promise<void> {
    return this.#reaping.stop();
  }

  async #reap(): Promise<void> {
    const { options, events, waits } = this.#parts;
    const { store, logger } = options;
    for (;;) {
      const reaped = await store.repairs.reap(REAPED_AT_ONCE);
      for (const { operation, became, waited } of reaped) {
        const { opId, attempts } = operation;
        const fields = { ...operationFields(operation), attempts, became };
        logger.warn(fields, 'An operation was freed of an instance that fell silent');
        events.emit('repaired', { by: 'reaper', opId, became });
        if (became === 'failed') {
          await this.#callOff(operation);
          events.emit('ended', { operation });
          waits.tell(operation);
          if (waited) store.notices.tell(opId);
        }
      }
      if (reaped.some(({ became }) => became === 'released')) this.#onReleased();
      if (reaped.length < REAPED_AT_ONCE) return;
    }
  }

  /** Work that may have been handed over before its instance died is of no use any more. */
  async #callOff(operation: Operation): Promise<void> {
    const { executor, logger } = this.#parts.options;
    const { domain, eventType } = operation;
    try {
      const kind = executor.traits?.({ domain, eventType }).kind;
      if (kind !== undefined) await executor.backings?.get(kind)?.cancel(operation);
    } catch (error) {
      logger.warn(
        { ...operationFields(operation), reason: String(error) },
        'Work that may have been handed over could not be called off',
      );
    }
  }
}
