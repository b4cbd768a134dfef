import { type Loop, loop } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { OrchestratorEvents } from './events.js';
import type { Ending, RouteTraits } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { Outcome } from './outcome.js';
import type { BackedOperation, BackingLook, BackingPort } from './ports.js';
import { endingOf, fitOutcome } from './rules/outcomes.js';
import type { Waits } from './waits.js';

const LOOK_LIMIT = 200;

/**
 * Ends operations when their backing has ended. Notifications make it quick. A periodic check of all backed operations makes
 * it certain.
 */
export class BackingWatcher {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #events: OrchestratorEvents;
  readonly #waits: Waits;
  /** Checks all backed operations. */
  readonly loop: Loop;
  /** Called when an operation became due again. */
  onDropped: () => void = () => {};

  constructor(options: ResolvedOrchestratorOptions, events: OrchestratorEvents, waits: Waits) {
    this.#options = options;
    this.#events = events;
    this.#waits = waits;
    const look = () => this.#lookAtAll();
    this.loop = loop(options, 'Check backed operations', options.watchIntervalMs, look, { unref: true });
  }

  /**
   * Ends an operation after a notification that its backing has ended.
   * @param opId - may be unknown.
   */
  settled(opId: OpId, outcome: Outcome): void {
    this.#end(opId, endingOf(this.#fitted(outcome))).catch((error: unknown) => {
      const fields = { opId, reason: String(error) };
      this.#options.logger.debug(fields, 'End of a backing not stored; the next check stores it');
    });
  }

  async #lookAtAll(): Promise<void> {
    const { executor, logger } = this.#options;
    for (const [kind, port] of executor.backings ?? []) {
      try {
        await this.#lookAt(kind, port);
      } catch (error) {
        // An unavailable backing must not block the operations of the others.
        logger.warn({ kind, reason: String(error) }, 'Backings not checked, will retry');
      }
    }
  }

  async #lookAt(kind: string, port: BackingPort): Promise<void> {
    const { store } = this.#options;
    for (let after: OpId | undefined; ; ) {
      const operations = await store.repairs.backed(kind, after, LOOK_LIMIT);
      if (operations.length === 0) return;
      const looks = await port.look(operations);
      for (const operation of operations) {
        const look = looks.get(operation.opId);
        if (look) await this.#follow(operation, look);
      }
      if (operations.length < LOOK_LIMIT) return;
      after = operations.at(-1)?.opId;
    }
  }

  async #follow(operation: BackedOperation, look: BackingLook): Promise<void> {
    const { opId, backing } = operation;
    if (look.kind === 'ended') await this.#end(opId, endingOf(this.#fitted(look.outcome)), 'watcher');
    if (look.kind === 'gone') await this.#lost(operation, backing.kind);
  }

  /** Submits work that is gone again if its route is idempotent. Otherwise the operation fails. */
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

  /** Returns `'unknown'` for a route that a release has removed: instances of the release before may still know it. */
  #traits({ domain, eventType }: BackedOperation): RouteTraits | 'unknown' | undefined {
    try {
      return this.#options.executor.traits?.({ domain, eventType });
    } catch {
      return 'unknown';
    }
  }

  async #end(opId: OpId, ending: Ending, by?: 'watcher'): Promise<void> {
    const answer = await this.#options.store.repairs.endBacked(opId, ending);
    this.#waits.announceEnd(answer);
    if (by && answer.kind === 'settled')
      this.#events.emit('repaired', { by, opId, became: answer.operation.state });
  }

  #fitted(outcome: Outcome): Outcome {
    return fitOutcome(outcome, this.#options.outcomeBytesMax);
  }
}
