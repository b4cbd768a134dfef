import { type Clock, withDeadline } from '@millrace/foundation';
import type { FastifyReply } from 'fastify';
import { ERRORS } from '../errors.js';

/** Counts the requests that are being answered, and refuses new ones once the server is about to stop. */
export class Draining {
  readonly #clock: Clock;
  #open = 0;
  #beganAt: Date | undefined;
  #whenEmpty: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the server is about to stop. */
  get isDraining(): boolean {
    return this.#beganAt !== undefined;
  }

  /** Since when; undefined: it is not. */
  get beganAt(): Date | undefined {
    return this.#beganAt;
  }

  /** Requests that are being answered. */
  get open(): number {
    return this.#open;
  }

  /**
   * Counts a request until it has been answered.
   * @throws MillraceError `SERVER_STOPPING`.
   */
  enter(reply: FastifyReply): void {
    if (this.isDraining) {
      reply.header('connection', 'close');
      throw ERRORS.create('SERVER_STOPPING', {}, { retryAfterMs: 1_000 });
    }
    this.#open++;
    reply.raw.once('close', () => {
      this.#open--;
      if (this.#open === 0) this.#whenEmpty?.();
    });
  }

  /** Refuses new requests from now on. */
  begin(): void {
    this.#beganAt ??= new Date(this.#clock.now());
  }

  /**
   * Waits until every request has been answered.
   * @param waitMs - at most so long.
   */
  async settled(waitMs: number): Promise<void> {
    if (this.#open === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    await withDeadline(this.#clock, waitMs, empty);
  }
}
