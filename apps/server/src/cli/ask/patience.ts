import {
  BUSY_STATUSES,
  createServerClient,
  ProblemError,
  type ServerClient,
} from '@millrace/contract/server-client';
import { type Clock, sleep, systemClock } from '@millrace/foundation';
import { type Asking, isConnectionError } from './asking.js';

/** How long a server that has answered once may be away: a restart takes less, also with a database to wait for. */
const PATIENCE_MS = 60_000;
const ASK_AGAIN_MS = 500;
/** For one answer: whoever watches asks again soon. */
const ANSWER_MS = 10_000;

/** What asking with patience takes. */
export interface PatienceOptions {
  /** Called once when the server goes away, and once when it is back; a remark unless given. */
  readonly onAway?: ((isAway: boolean) => void) | undefined;
  /** No patience is left after so long; Infinity unless given. */
  readonly timeoutMs?: number | undefined;
  /** Times it; the system's unless given. */
  readonly clock?: Clock | undefined;
}

/** Says that a server is away, or back. */
export const remarkAway = ({ printer, url }: Asking, isAway: boolean): void =>
  printer.remark(isAway ? `The server at ${url} does not answer; waiting for it.` : 'It answers again.');

/** Asks a server again and again, also while it is away for a while. The first answer is not waited for: it may be the wrong address. */
export class Patience {
  readonly #asking: Asking;
  readonly #onAway: (isAway: boolean) => void;
  readonly #clock: Clock;
  readonly #client: ServerClient;
  readonly #endsAt: number;
  #seenAt = Number.NEGATIVE_INFINITY;
  #isAway = false;

  constructor(asking: Asking, options: PatienceOptions = {}) {
    const { url, apiKey } = asking;
    this.#asking = asking;
    this.#onAway = options.onAway ?? ((isAway) => remarkAway(asking, isAway));
    this.#clock = options.clock ?? systemClock;
    this.#client = createServerClient({ baseUrl: url, apiKey, retries: 0, timeoutMs: ANSWER_MS });
    this.#endsAt = this.#clock.monotonicMs() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endsAt;
  }

  /**
   * Asks until there is an answer.
   * @param look - asks, once.
   * @throws ProblemError when the server refuses; what `fetch` throws when it stays away; the signal's reason when the user interrupts.
   */
  async ask<T>(look: (client: ServerClient) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const answer = await look(this.#client);
        this.#seenAt = this.#clock.monotonicMs();
        this.#say(false);
        return answer;
      } catch (error) {
        this.#asking.signal.throwIfAborted();
        const isPatient = this.#clock.monotonicMs() - this.#seenAt < PATIENCE_MS && !this.isOver;
        if (!isPatient || !isAway(error)) throw error;
        this.#say(true);
      }
      await sleep(this.#clock, ASK_AGAIN_MS, this.#asking.signal);
    }
  }

  /**
   * Waits between two looks, at most until the time is up.
   * @throws the signal's reason when the user interrupts.
   */
  async pause(ms: number): Promise<void> {
    const leftMs = Math.max(0, this.#endsAt - this.#clock.monotonicMs());
    await sleep(this.#clock, Math.min(ms, leftMs), this.#asking.signal);
  }

  #say(isAwayNow: boolean): void {
    if (isAwayNow !== this.#isAway) this.#onAway(isAwayNow);
    this.#isAway = isAwayNow;
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof ProblemError ? BUSY_STATUSES.includes(error.status) : isConnectionError(error);
