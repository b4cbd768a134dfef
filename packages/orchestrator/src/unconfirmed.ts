import type { CancelTimer } from '@millrace/foundation';
import type { Attempts } from './attempts.js';
import { type Envelope, operationFields, type RouteTraits } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { FIRST_TOKEN } from './rules/operation-record.js';

/** A command whose acceptance the store has not confirmed. */
interface Unconfirmed {
  readonly envelope: Envelope;
  readonly traits: RouteTraits;
  /** End of its lease if it was accepted. The Reaper releases it then. */
  readonly untilMs: number;
}

/** Maximum number of commands looked for. Others wait for the end of their lease. */
const KEPT_MAX = 1_000;
const LOOK_EVERY_MS = 500;

/**
 * Commands answered with `STORE_UNAVAILABLE`. Some were stored all the same, owned by this instance. They are looked for
 * until the store replies and then run, so that a short outage does not delay them by a whole lease.
 */
export class UnconfirmedCommands {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #attempts: Attempts;
  readonly #commands = new Map<OpId, Unconfirmed>();
  #cancelTimer: CancelTimer | undefined;
  #isStopped = false;

  constructor(options: ResolvedOrchestratorOptions, attempts: Attempts) {
    this.#options = options;
    this.#attempts = attempts;
  }

  /** Adds a command to look for. */
  add(envelope: Envelope, traits: RouteTraits): void {
    const { clock, leaseMs } = this.#options;
    if (this.#isStopped || this.#commands.size >= KEPT_MAX) return;
    this.#commands.set(envelope.opId, { envelope, traits, untilMs: clock.monotonicMs() + leaseMs });
    this.#cancelTimer ??= this.#later();
  }

  /** Ends the search. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
    this.#commands.clear();
  }

  #later(): CancelTimer {
    return this.#options.clock.setTimer(LOOK_EVERY_MS, () => void this.#look(), { unref: true });
  }

  async #look(): Promise<void> {
    const { store, clock, owner, logger } = this.#options;
    try {
      for (const { opId, state, attempts, owner: owned } of await store.views.watch(
        [...this.#commands.keys()],
        0,
      )) {
        const command = this.#commands.get(opId);
        this.#commands.delete(opId);
        if (!command || owned !== owner || state !== 'PENDING' || attempts !== 1) continue;
        logger.info(
          operationFields(command.envelope),
          'Unconfirmed operation found in the store, running it now',
        );
        this.#attempts.begin({ opId, token: FIRST_TOKEN, attempt: 1, refusals: 0, ...command });
      }
    } catch (error) {
      logger.debug({ reason: String(error) }, 'Unconfirmed commands not checked, will retry');
    }
    const now = clock.monotonicMs();
    for (const [opId, { untilMs }] of this.#commands) if (untilMs <= now) this.#commands.delete(opId);
    this.#cancelTimer = this.#commands.size > 0 && !this.#isStopped ? this.#later() : undefined;
  }
}
