import { type Rng, withDeadline } from '@millrace/foundation';
import { RedisConnection } from '@millrace/redis';
import { abortError, ERRORS } from '../errors.js';
import type { QueueItem } from '../model.js';
import { checkWaitOptions } from '../options.js';
import type { Queue, QueueWaitOptions } from '../ports.js';
import { Getters } from './getters.js';
import { type RedisQueueConfig, type ResolvedRedisQueueConfig, resolveRedisQueueConfig } from './options.js';
import { encodePayload } from './payload.js';
import { Putters, stoppedError } from './putters.js';
import { QueueStore } from './store.js';
import type { WaitLimits } from './waiter-queue.js';

const FOR_EVER: QueueWaitOptions = Object.freeze({ timeoutMs: Infinity });

/**
 * A bounded queue in Redis that any number of processes share: JSON in a list, pushed right, taken left.
 *
 * What `put` acknowledged is delivered exactly once while clients live; an item on its way to a client that dies
 * returns to the head after `takeLeaseMs`. Calls ride out a Redis that is away: they go on trying until their own time
 * is up. Then `get` answers null and `put` fails with `QUEUE_FULL` if Redis had answered them before; if it never did,
 * or a put is under way and nobody knows whether it arrived, they fail with `REDIS_UNAVAILABLE`. A call with a shorter
 * time than the connection's `callTimeoutMs` gives Redis that long for its first answer.
 *
 * `close` ends the queue for all processes, `stop` only this object's use of it.
 */
export class RedisQueue<T> implements Queue<T>, AsyncDisposable {
  readonly #config: ResolvedRedisQueueConfig;
  readonly #connection: RedisConnection;
  readonly #store: QueueStore;
  readonly #putters: Putters;
  readonly #getters: Getters<T>;
  readonly #clientId: string;
  #sequence = 0;
  #closed = false;
  #stopping: Promise<void> | undefined;

  /**
   * @param config - which queue, how large, and where Redis is; connects with the first call.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(config: RedisQueueConfig = {}) {
    this.#config = resolveRedisQueueConfig(config);
    const { name, maxSize, connection } = this.#config;
    this.#connection = connection ?? new RedisConnection(this.#config.redis);
    this.#clientId = newClientId(this.#connection.options.rng);
    this.#store = new QueueStore(this.#connection, { ...this.#config, clientId: this.#clientId });
    const onClosed = () => {
      this.#closed = true;
    };
    const side = { name, store: this.#store, connection: this.#connection, onClosed };
    this.#putters = new Putters({ ...side, maxSize });
    this.#getters = new Getters(side);
  }

  /** Whether `close` has been called, here or by another process whose call this one has heard of. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Appends a payload; waits while the queue is full, behind those of this object who wait already.
   * @param payload - what JSON can carry, at most `payloadBytesMax`.
   * @param options - how long to wait, and what ends the wait early. While a call to Redis is under way, both wait for
   * its answer, at most `callTimeoutMs`: after QUEUE_FULL the payload is never in the queue, after an AbortError only
   * if Redis did not answer.
   * @returns the item.
   * @throws MillraceError `QUEUE_FULL`, `QUEUE_CLOSED`, `QUEUE_PAYLOAD_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`,
   * `REDIS_UNAVAILABLE` (the payload may be in the queue or not), `REDIS_LAYOUT_NEWER`, `SERVICE_STOPPED`; AbortError
   * (`ABORTED`).
   */
  async put(payload: T, options?: QueueWaitOptions): Promise<QueueItem<T>> {
    const limits = this.#limits(options);
    return this.#put(payload, limits);
  }

  /**
   * Appends a payload, or answers null when the queue is full; takes one call to Redis.
   * @param payload - what JSON can carry, at most `payloadBytesMax`.
   * @returns the item, or null.
   * @throws MillraceError `QUEUE_CLOSED`, `QUEUE_PAYLOAD_INVALID`, `REDIS_UNAVAILABLE`, `REDIS_LAYOUT_NEWER`,
   * `SERVICE_STOPPED`.
   */
  async tryPut(payload: T): Promise<QueueItem<T> | null> {
    try {
      return await this.#put(payload, { timeoutMs: 0, signal: undefined });
    } catch (error) {
      if (ERRORS.is(error, 'QUEUE_FULL')) return null;
      throw error;
    }
  }

  /**
   * Takes the oldest item; waits while there is none, behind those of this object who wait already.
   * @param options - how long to wait, and what ends the wait early.
   * @returns the item; null when the time is up, when the queue is closed and drained, or when `stop` ends the wait.
   * @throws AbortError (`ABORTED`); MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `REDIS_UNAVAILABLE`,
   * `REDIS_LAYOUT_NEWER`, `SERVICE_STOPPED`.
   */
  async get(options?: QueueWaitOptions): Promise<QueueItem<T> | null> {
    return this.#getters.get(this.#limits(options));
  }

  /**
   * Refuses further puts of every process; consumers drain what is there and then get null. Idempotent.
   * @throws MillraceError `REDIS_UNAVAILABLE`, `REDIS_LAYOUT_NEWER`, `SERVICE_STOPPED`.
   */
  async close(): Promise<void> {
    this.#refuseStopped();
    await this.#store.close();
    this.#closed = true;
  }

  /**
   * How many items wait; those on their way to a client are not among them.
   * @throws MillraceError `REDIS_UNAVAILABLE`, `REDIS_LAYOUT_NEWER`, `SERVICE_STOPPED`.
   */
  async size(): Promise<number> {
    this.#refuseStopped();
    const { waiting, closed } = await this.#store.size();
    this.#closed ||= closed;
    return waiting;
  }

  /** Takes items until the queue is closed and drained, however long it is empty in between. */
  async *[Symbol.asyncIterator](): AsyncGenerator<QueueItem<T>, void, undefined> {
    for (;;) {
      const item = await this.get(FOR_EVER);
      if (!item) return;
      yield item;
    }
  }

  /**
   * Ends this object's use of the queue: waiting gets answer null, waiting puts fail with SERVICE_STOPPED, what was on
   * its way goes back if Redis answers within `callTimeoutMs`, and a connection of its own is closed. The queue and
   * its other users go on. Idempotent.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** The same as `stop`: leaving a block must not close the queue for other processes. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #put(payload: T, limits: WaitLimits): Promise<QueueItem<T>> {
    this.#refuseStopped();
    if (this.#closed) throw ERRORS.create('QUEUE_CLOSED', { queue: this.#config.name });
    const json = encodePayload(payload, this.#config.payloadBytesMax);
    const { id, createdAt } = await this.#putters.put(`${this.#clientId}-${++this.#sequence}`, json, limits);
    return { id, payload, createdAt };
  }

  async #stop(): Promise<void> {
    this.#putters.refuseAll(stoppedError(this.#config.name));
    this.#getters.endAll();
    const { clock, callTimeoutMs } = this.#connection.options;
    await withDeadline(clock, callTimeoutMs, this.#getters.idle());
    if (!this.#config.connection) await this.#connection.stop();
  }

  #limits(options: QueueWaitOptions | undefined): WaitLimits {
    checkWaitOptions('RedisQueue', options);
    this.#refuseStopped();
    const { timeoutMs = this.#config.defaultTimeoutMs ?? Infinity, signal } = options ?? {};
    if (signal?.aborted) throw abortError(signal);
    return { timeoutMs, signal };
  }

  #refuseStopped(): void {
    if (this.#stopping) throw stoppedError(this.#config.name);
  }
}

/** Ids of clients tell apart all that ever used a queue, so they are long. */
const newClientId = (rng: Rng): string =>
  [0, 1].map(() => rng.integer(0, Number.MAX_SAFE_INTEGER).toString(36)).join('');
