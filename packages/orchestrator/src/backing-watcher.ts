import { Repeating } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { OrchestratorEvents } from './events.js';
import { fitOutcome } from './fit-outcome.js';
import type { Ending, RouteTraits } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { Outcome } from './outcome.js';
import type { BackedOperation, BackingLook, BackingPort } from './ports.js';
import { endingOf } from './rules/judge-outcome.js';
import { isTerminal } from './states.js';
import type { Waits } from './waits.js';

const LOOKED_AT_ONCE = 200;

/**
 * Ends operations when the work behind them has ended. Hints make it quick; looking at all of them from time to time makes it certain.
 */
export class BackingWatcher {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #events: OrchestratorEvents;
  readonly #waits: Waits;
  readonly #looking: Repeating;
  /** Told when an operation became due again. */
  onDropped: () => void = () => {};

  constructor(options: ResolvedOrchestratorOptions, events: OrchestratorEvents, waits: Waits) {
    this.#options = options;
    this.#events = events;
    this.#waits = waits;
    const { clock, rng, logger, watchIntervalMs } = options;
    this.#looking = new Repeating(
      {
        clock,
        rng,
        logger,
        what: 'Looking at the work behind operations',
        everyMs: watchIntervalMs,
        unref: true,
      },
      () => this.#lookAtAll(),
    );
  }

  /** Begins to look. */
  start(): void {
    if (this.#options.executor.backings?.size) this.#looking.start();
  }

  /** Ends the looking. */
  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /**
   * A hint that the work behind an operation has ended.
   * @param opId - the operation, if it is one.
   */
  settled(opId: OpId, outcome: Outcome): void {
    this.#end(opId, endingOf(this.#fitted(outcome))).catch((error: unknown) => {
      this.#options.logger.debug(
        { opId, reason: String(error) },
        'An end will be written with the next look',
      );
    });
  }

  async #lookAtAll(): Promise<void> {
    const { executor, logger } = this.#options;
    for (const [kind, port] of executor.backings ?? []) {
      try {
        await this.#lookAt(kind, port);
      } catch (error) {
        // A part that is away must not keep the operations of the others waiting.
        logger.warn({ kind, reason: String(error) }, 'The work behind operations could not be looked at');
      }
    }
  }

  async #lookAt(kind: string, port: BackingPort): Promise<void> {
    const { store } = this.#options;
    for (let after: OpId | undefined; ; ) {
      const operations = await store.repairs.backed(kind, after, LOOKED_AT_ONCE);
      if (operations.length === 0) return;
      const looks = await port.look(operations);
      for (const operation of operations) {
        const look = looks.get(operation.opId);
        if (look) await this.#follow(operation, look);
      }
      if (operations.length < LOOKED_AT_ONCE) return;
      after = operations.at(-1)?.opId;
    }
  }

  async #follow(operation: BackedOperation, look: BackingLook): Promise<void> {
    const { opId, backing } = operation;
    if (look.kind === 'ended') await this.#end(opId, endingOf(this.#fitted(look.outcome)), 'watcher');
    if (look.kind === 'gone') await this.#lost(operation, backing.kind);
  }

  /** Work that is gone is handed over again where that does no harm. */
  async #lost(operation: BackedOperation, kind: string): Promise<void> {
    const { store } = this.#options;
    const { opId } = operation;
    const traits = this.#traits(operation);
    if (traits === 'unknown') return;
    if (traits?.idempotent) {
      if (!(await store.repairs.dropBacking(opId))) return;
      this.#events.emit('repaired', { by: 'watcher', opId, became: 'due' });
      this.onDropped();
      return;
    }
    const error = ERRORS.create('BACKING_LOST', { kind });
    await this.#end(opId, endingOf(Outcome.fail(error.code, error.message)), 'watcher');
  }

  /** A route that a release has taken away is known to instances of the release before, if to anybody. */
  #traits({ domain, eventType }: BackedOperation): RouteTraits | 'unknown' | undefined {
    try {
      return this.#options.executor.traits?.({ domain, eventType });
    } catch {
      return 'unknown';
    }
  }

  async #end(opId: OpId, ending: Ending, by?: 'watcher'): Promise<void> {
    const { store } = this.#options;
    const answer = await store.repairs.endBacked(opId, ending);
    if (!answer.operation || !isTerminal(answer.operation.state)) return;
    this.#waits.tell(answer.operation);
    if (answer.kind !== 'settled') return;
    this.#events.emit('ended', { operation: answer.operation });
    if (by) this.#events.emit('repaired', { by, opId, became: answer.operation.state });
    if (answer.waited) store.notices.tell(opId);
  }

  #fitted(outcome: Outcome): Outcome {
    return fitOutcome(outcome, this.#options.outcomeBytesMax);
  }
}
