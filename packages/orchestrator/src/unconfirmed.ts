import type { CancelTimer } from '@millrace/foundation';
import type { Attempts } from './attempts.js';
import { type Envelope, operationFields, type RouteTraits } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { FIRST_TOKEN } from './rules/operation-record.js';

/** A command whose acceptance nobody has confirmed. */
interface Unconfirmed {
  readonly envelope: Envelope;
  readonly traits: RouteTraits;
  /** After that its lease has ended, if it was accepted at all: then it is the Reaper's. */
  readonly untilMs: number;
}

/** So many are looked for; what is beyond waits for its lease to end. */
const KEPT_MAX = 1_000;
const LOOK_EVERY_MS = 500;

/**
 * Commands whose callers were told to repeat their key: some were stored all the same, and are this instance's to run. They are looked for
 * until the store answers, so that a short outage does not cost them a whole lease.
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

  /** Looks for an operation from now on. */
  add(envelope: Envelope, traits: RouteTraits): void {
    const { clock, leaseMs } = this.#options;
    if (this.#isStopped || this.#commands.size >= KEPT_MAX) return;
    this.#commands.set(envelope.opId, { envelope, traits, untilMs: clock.monotonicMs() + leaseMs });
    this.#cancelTimer ??= this.#later();
  }

  /** Looks no more. */
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
          'An operation was accepted although nobody could confirm it; it is run now',
        );
        this.#attempts.begin({ opId, token: FIRST_TOKEN, attempt: 1, refusals: 0, ...command });
      }
    } catch (error) {
      logger.debug({ reason: String(error) }, 'Unconfirmed commands could not be looked for yet');
    }
    const now = clock.monotonicMs();
    for (const [opId, { untilMs }] of this.#commands) if (untilMs <= now) this.#commands.delete(opId);
    this.#cancelTimer = this.#commands.size > 0 && !this.#isStopped ? this.#later() : undefined;
  }
}
