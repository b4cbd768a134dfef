import { createServerClient, ProblemError, type ServerClient } from '@millrace/contract/server-client';
import { sleep, systemClock } from '@millrace/foundation';
import { type Asking, isConnectionError } from './asking.js';

/** How long a server that has answered once may be away: a restart takes less, also with a database to wait for. */
const PATIENCE_MS = 60_000;
const ASK_AGAIN_MS = 500;
/** For one answer: whoever watches asks again soon. */
const ANSWER_MS = 10_000;

/** A server that is about to come back, or something before it, answers so. */
const AWAY_STATUSES = [429, 502, 503, 504];

/** What asking with patience takes. */
export interface PatienceOptions {
  /** Called once when the server goes away, and once when it is back. */
  readonly onAway: (isAway: boolean) => void;
  /** No patience is left after so long; Infinity unless given. */
  readonly timeoutMs?: number | undefined;
}

/** Asks a server again and again, also while it is away for a while. The first answer is not waited for: it may be the wrong address. */
export class Patience {
  readonly #asking: Asking;
  readonly #options: PatienceOptions;
  readonly #client: ServerClient;
  readonly #endsAt: number;
  #seenAt = Number.NEGATIVE_INFINITY;
  #isAway = false;

  /**
   * @param asking - see Asking.
   * @param options - see PatienceOptions.
   */
  constructor(asking: Asking, options: PatienceOptions) {
    const { url, apiKey } = asking;
    this.#asking = asking;
    this.#options = options;
    this.#client = createServerClient({ baseUrl: url, apiKey, retries: 0, timeoutMs: ANSWER_MS });
    this.#endsAt = systemClock.monotonicMs() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return systemClock.monotonicMs() >= this.#endsAt;
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
        this.#seenAt = systemClock.monotonicMs();
        this.#say(false);
        return answer;
      } catch (error) {
        this.#asking.signal.throwIfAborted();
        const isPatient = systemClock.monotonicMs() - this.#seenAt < PATIENCE_MS && !this.isOver;
        if (!isPatient || !isAway(error)) throw error;
        this.#say(true);
      }
      await sleep(systemClock, ASK_AGAIN_MS, this.#asking.signal);
    }
  }

  /**
   * Waits between two looks, at most until the time is up.
   * @param ms - how long.
   * @throws the signal's reason when the user interrupts.
   */
  async pause(ms: number): Promise<void> {
    const leftMs = Math.max(0, this.#endsAt - systemClock.monotonicMs());
    await sleep(systemClock, Math.min(ms, leftMs), this.#asking.signal);
  }

  #say(isAwayNow: boolean): void {
    if (isAwayNow !== this.#isAway) this.#options.onAway(isAwayNow);
    this.#isAway = isAwayNow;
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof ProblemError ? AWAY_STATUSES.includes(error.status) : isConnectionError(error);
