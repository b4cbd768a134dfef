import { type Clock, type MillraceError, type Rng, systemClock, systemRng } from '@millrace/foundation';
import { abortError, ERRORS } from '../errors.js';
import type { QueueItem } from '../model.js';
import {
  checkWaitOptions,
  type QueueConfig,
  type ResolvedQueueConfig,
  resolveQueueConfig,
} from '../options.js';
import type { Queue, QueueWaitOptions } from '../ports.js';
import { Fifo } from './fifo.js';
import { Waiters, type WaitLimits } from './waiters.js';

/** What an InMemoryQueue takes from outside. */
export interface InMemoryQueueDependencies {
  /** Times the waits and stamps the items (the machine's). */
  readonly clock?: Clock | undefined;
  /** Makes the ids of this queue differ from those of every other. */
  readonly rng?: Rng | undefined;
}

const OWNER = 'InMemoryQueue';

/**
 * A bounded queue in this process: `put` and `get` take constant time at any size, callers that wait are served in the
 * order they came, and what one side brings is handed straight to the other.
 *
 * Two things always hold between calls: getters wait only while it is empty, putters only while it is full.
 */
export class InMemoryQueue<T> implements Queue<T>, AsyncDisposable {
  readonly #config: ResolvedQueueConfig;
  readonly #clock: Clock;
  /** Ids serve as idempotency keys in services that outlive this queue, so a bare counter would not do. */
  readonly #idPrefix: string;
  readonly #capacity: number;
  readonly #items = new Fifo<T>();
  readonly #getters: Waiters<QueueItem<T> | null>;
  readonly #putters: Waiters<QueueItem<T>, T>;
  #sequence = 0;
  #closed = false;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(
    config?: QueueConfig,
    { clock = systemClock, rng = systemRng() }: InMemoryQueueDependencies = {},
  ) {
    this.#config = resolveQueueConfig(config, OWNER);
    this.#clock = clock;
    this.#idPrefix = `${rng.integer(0, Number.MAX_SAFE_INTEGER).toString(36)}-`;
    this.#capacity = this.#config.maxSize || Infinity;
    this.#getters = new Waiters(clock, (getter) => getter.resolve(null));
    this.#putters = new Waiters(clock, (putter) => putter.reject(this.#full()));
  }

  /** Whether `close` has been called. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Appends a payload; waits while the queue is full, behind those who wait already.
   * @param payload - kept as it is, not copied.
   * @param options - how long to wait, and what ends the wait early.
   * @returns the item.
   * @throws MillraceError `QUEUE_FULL` when the time is up, `QUEUE_CLOSED`, `OPTION_INVALID`, `OPTION_UNKNOWN`;
   * AbortError (`ABORTED`).
   */
  async put(payload: T, options?: QueueWaitOptions): Promise<QueueItem<T>> {
    refuse(options);
    if (this.#closed) throw this.#refusal();
    if (this.#items.length < this.#capacity) return this.#accept(payload);
    const limits = this.#limits(options);
    if (limits.timeoutMs === 0) throw this.#full();
    return this.#putters.join(payload, limits);
  }

  /**
   * Appends a payload, or answers null at once when the queue is full.
   * @param payload - kept as it is, not copied.
   * @returns the item, or null.
   * @throws MillraceError `QUEUE_CLOSED`.
   */
  async tryPut(payload: T): Promise<QueueItem<T> | null> {
    if (this.#closed) throw this.#refusal();
    return this.#items.length < this.#capacity ? this.#accept(payload) : null;
  }

  /**
   * Takes the oldest item; waits while there is none, behind those who wait already.
   * @param options - how long to wait, and what ends the wait early.
   * @returns the item; null when the time is up, or when the queue is closed and drained.
   * @throws AbortError (`ABORTED`); MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async get(options?: QueueWaitOptions): Promise<QueueItem<T> | null> {
    refuse(options);
    if (this.#items.length > 0) {
      const item = this.#takeOldest();
      // The place goes straight to the next putter: were it free for a moment, a newcomer could take it.
      const putter = this.#putters.shift();
      if (putter) putter.resolve(this.#accept(putter.data));
      return item;
    }
    if (this.#closed) return null;
    const limits = this.#limits(options);
    return limits.timeoutMs === 0 ? null : this.#getters.join(undefined, limits);
  }

  /** Refuses further puts, also those that wait; consumers drain what is there and then get null. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (let putter = this.#putters.shift(); putter; putter = this.#putters.shift())
      putter.reject(this.#refusal());
    for (let getter = this.#getters.shift(); getter; getter = this.#getters.shift()) getter.resolve(null);
  }

  /** How many items wait. */
  async size(): Promise<number> {
    return this.#items.length;
  }

  /** Takes items until the queue is closed and drained, however long it is empty in between. */
  async *[Symbol.asyncIterator](): AsyncGenerator<QueueItem<T>, void, undefined> {
    for (;;) {
      const item = await this.get(FOR_EVER);
      if (!item) return;
      yield item;
    }
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #accept(payload: T): QueueItem<T> {
    const at = this.#clock.now();
    const item = this.#itemOf(this.#sequence++, payload, at);
    const getter = this.#getters.shift();
    if (getter) getter.resolve(item);
    else this.#items.push(payload, at);
    return item;
  }

  /** What waits is always what was accepted last: the place in the line says the number. */
  #takeOldest(): QueueItem<T> {
    const { length, oldestAt } = this.#items;
    return this.#itemOf(this.#sequence - length, this.#items.shift(), oldestAt);
  }

  #itemOf(sequence: number, payload: T, at: number): QueueItem<T> {
    return { id: this.#idPrefix + sequence, payload, createdAt: new Date(at) };
  }

  #limits(options: QueueWaitOptions | undefined): WaitLimits {
    return {
      timeoutMs: options?.timeoutMs ?? this.#config.defaultTimeoutMs ?? Infinity,
      signal: options?.signal,
    };
  }

  #full(): MillraceError {
    return ERRORS.create('QUEUE_FULL', { queue: this.#config.name, size: this.#items.length });
  }

  #refusal(): MillraceError {
    return ERRORS.create('QUEUE_CLOSED', { queue: this.#config.name });
  }
}

const FOR_EVER: QueueWaitOptions = Object.freeze({ timeoutMs: Infinity });

/** Refuses bad options, and a signal that has aborted before anything was done. */
function refuse(options: QueueWaitOptions | undefined): void {
  if (options === undefined) return;
  checkWaitOptions(OWNER, options);
  if (options.signal?.aborted) throw abortError(options.signal);
}
