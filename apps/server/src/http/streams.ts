import type { Clock } from '@millrace/foundation';
import type { FastifyReply } from 'fastify';
import { ERRORS } from '../errors.js';
import type { Caller } from '../security/caller.js';

/** How many streams there may be, and how patient they are. */
export interface StreamsOptions {
  readonly streamsMax: number;
  /** Of one caller. */
  readonly streamsPerKey: number;
  /** A client that takes nothing for so long is dropped. */
  readonly streamStallMs: number;
}

/** Looks at each client a few times in the time that it may stall. */
const LOOKS_PER_STALL = 4;

interface Open {
  readonly raw: FastifyReply['raw'];
  readonly caller: Caller | undefined;
  /** How much the system has taken for the client, and since when no more. */
  taken: number;
  since: number;
}

/**
 * The streams of events that are open, whichever route they belong to: how many there are, that no client which has stopped
 * reading is kept, and that all of them end when the server does.
 */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #clock: Clock;
  readonly #open = new Set<Open>();
  #cancel: (() => void) | undefined;
  #dropped = 0;

  constructor(options: StreamsOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Streams that are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Clients that were dropped because they did not read. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Counts a stream until its connection is closed.
   * @param caller - who has opened it; one alone must not take all there may be. undefined: not counted apart.
   * @throws MillraceError `STREAMS_FULL`.
   */
  enter({ raw }: Pick<FastifyReply, 'raw'>, caller?: Caller | undefined): void {
    const { streamsMax, streamsPerKey } = this.#options;
    requireRoom(this.#open.size, streamsMax, 'limits.streamsMax');
    if (caller) {
      const own = [...this.#open].filter((open) => open.caller === caller).length;
      requireRoom(own, streamsPerKey, 'of this key, limits.streamsPerKey');
    }
    const open: Open = { raw, caller, taken: 0, since: this.#clock.monotonicMs() };
    this.#open.add(open);
    raw.once('close', () => this.#open.delete(open));
    this.#lookLater();
  }

  /** Ends all streams; clients that do not read are cut off. */
  end(): void {
    for (const { raw } of this.#open) {
      raw.end();
      if (raw.writableNeedDrain) raw.destroy();
    }
  }

  /** Ends the looking. */
  stop(): void {
    this.end();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #lookLater(): void {
    if (this.#cancel || this.#open.size === 0) return;
    this.#cancel = this.#clock.setTimer(
      this.#options.streamStallMs / LOOKS_PER_STALL,
      () => {
        this.#cancel = undefined;
        this.#dropStalled();
        this.#lookLater();
      },
      { unref: true },
    );
  }

  #dropStalled(): void {
    const now = this.#clock.monotonicMs();
    for (const open of this.#open) {
      const { writableLength: held, socket } = open.raw;
      // Not by how much is held: that is the same for each of many equal events, however fast they go.
      const taken = (socket?.bytesWritten ?? 0) - held;
      if (held === 0 || taken !== open.taken) {
        open.taken = taken;
        open.since = now;
      } else if (now - open.since >= this.#options.streamStallMs) {
        this.#dropped++;
        open.raw.destroy();
      }
    }
  }
}

function requireRoom(streams: number, max: number, limit: string): void {
  if (streams >= max) throw ERRORS.create('STREAMS_FULL', { streams, limit }, { retryAfterMs: 5_000 });
}
