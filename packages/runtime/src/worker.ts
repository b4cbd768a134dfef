import { exponentialBackoff, onAbort } from '@millrace/async-utils';
import {
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  Lifecycle,
  type Logger,
  printable,
  type Rng,
  type Service,
  silentLogger,
  sleep,
  systemClock,
  systemRng,
  toWorkError,
  withJitter,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { QueueItem } from './model.js';
import { type ResolvedWorkerConfig, resolveWorkerConfig, type WorkerConfig } from './options.js';
import type { Queue, QueueWaitOptions } from './ports.js';
import { logSafely, processItem, type WorkHandler } from './process-item.js';

/**
 * Where a worker is. Only the worker itself changes it.
 *
 * ```
 *   IDLE ──start()──▶ RUNNING ──stop()──▶ STOPPING ──items done──▶ STOPPED
 *    │                 │   ▲                 ▲                      ▲   ▲
 *    │    item failed  │   │ item succeeded  │ stop()               │   │
 *    │    for good     ▼   │                 │                      │   │
 *    │                 ERROR ────────────────┘                      │   │
 *    │                 └── queue closed and drained (RUNNING too) ──┘   │
 *    └──────────────────────────── stop() ──────────────────────────────┘
 * ```
 * With `stopOnError` the worker ends in ERROR, until somebody calls `stop()`. A queue that fails is no state of the
 * worker: it is logged, and looked into again after a pause.
 */
export type WorkerState = 'IDLE' | 'RUNNING' | 'STOPPING' | 'STOPPED' | 'ERROR';

/** What may follow. Any other step is not made: an item that ends while the worker stops does not make it run again. */
const NEXT: Readonly<Record<WorkerState, readonly WorkerState[]>> = {
  IDLE: ['RUNNING', 'STOPPED'],
  RUNNING: ['ERROR', 'STOPPING', 'STOPPED'],
  ERROR: ['RUNNING', 'STOPPING', 'STOPPED'],
  STOPPING: ['STOPPED'],
  STOPPED: [],
};

/** What a Worker takes from outside. */
export interface WorkerDependencies {
  /** Times the pauses (the machine's). */
  readonly clock?: Clock | undefined;
  /** Spreads the pauses of workers whose queue fails. */
  readonly rng?: Rng | undefined;
  /** Told of failures (nobody). */
  readonly log?: Logger | undefined;
}

/** Registers a function as a worker's handler: called with it, or as a method decorator under either set of rules. */
export interface HandleFunction<T> {
  <F extends WorkHandler<T>>(fn: F, context?: ClassMethodDecoratorContext): F;
  <F extends WorkHandler<T>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): void;
}

/** Pauses while the queue fails: 100 ms, ×2, at most 10 s, less up to half, since many processes lose it at once. */
const queueBackoff = exponentialBackoff();
const QUEUE_PAUSE_JITTER = 0.5;

/**
 * Handlers that never wait would keep every timer and socket of the process from its turn, so after so many items and
 * so much time all loops wait for one. A turn takes a timer about 1 ms: this costs 1 % at most.
 */
const TURN_EVERY_ITEMS = 128;
const TURN_EVERY_MS = 100;

/**
 * Takes items from any queue and hands each to a handler, `concurrency` at a time, with retries.
 *
 * An item that was taken is brought to its end: `stop` waits for its last try, and a queue that fails for a while ends
 * nothing. When the queue is closed and drained the worker stops by itself.
 */
export class Worker<T> implements Service {
  readonly #queue: Queue<T>;
  readonly #config: ResolvedWorkerConfig<T>;
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #log: Logger;
  readonly #lifecycle: Lifecycle;
  /** Ends the waiting for items, not the work on them. */
  readonly #polling = new AbortController();
  /** Ends the work on items too. */
  readonly #working = new AbortController();
  readonly #poll: QueueWaitOptions;
  #handler: WorkHandler<T> | undefined;
  #state: WorkerState = 'IDLE';
  #failedForGood = false;
  #handled = 0;
  #turnAt = 0;
  #turn: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #end: () => void = () => {};

  /** Resolves, never rejects, when the worker has ended: by `stop`, by `stopOnError`, or with its queue. */
  readonly ended: Promise<void>;

  /**
   * @param handler - may also come later, through `handle`.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(
    queue: Queue<T>,
    handler?: WorkHandler<T>,
    config?: WorkerConfig<T>,
    { clock = systemClock, rng = systemRng(), log = silentLogger }: WorkerDependencies = {},
  ) {
    if (typeof queue?.get !== 'function') throw invalid('queue', 'a Queue (with put and get)', queue);
    this.#queue = queue;
    this.#config = resolveWorkerConfig(config);
    this.#clock = clock;
    this.#rng = rng;
    this.#log = log.child({ worker: this.#config.name });
    this.#poll = { timeoutMs: this.#config.pollTimeoutMs, signal: this.#polling.signal };
    this.#lifecycle = new Lifecycle(`Worker ${this.#config.name}`, {
      start: () => this.#open(),
      stop: () => this.ended,
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    if (handler !== undefined) this.#register(handler, () => undefined);
  }

  /** The configuration with its defaults. */
  get config(): ResolvedWorkerConfig<T> {
    return this.#config;
  }

  /** Where the worker is now. */
  get state(): WorkerState {
    return this.#state;
  }

  /**
   * Registers the handler and gives it back; also a decorator, `@worker.handle`, under standard and legacy rules.
   * `this` in a decorated static method is its class. In an instance method it is the first instance made under
   * standard rules; legacy rules tell nothing of instances, there it is the prototype.
   * @throws MillraceError `OPTION_INVALID` for what is no function, or a second handler.
   */
  readonly handle: HandleFunction<T> = ((
    target: unknown,
    at?: unknown,
    descriptor?: TypedPropertyDescriptor<WorkHandler<T>>,
  ) => {
    if (descriptor) {
      this.#register(descriptor.value, () => target);
      return undefined;
    }
    let self: unknown;
    if (typeof at === 'object' && at !== null) {
      (at as ClassMethodDecoratorContext).addInitializer(function () {
        self ??= this;
      });
    }
    this.#register(target, () => self);
    return target;
  }) as HandleFunction<T>;

  /**
   * Begins to take items; once, however often it is called.
   * @throws MillraceError `WORKER_WITHOUT_HANDLER`; `SERVICE_STOPPED` after the worker has ended.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Takes no more items and waits for those in hand, their retries included. A handler may call it, but not await it.
   * @param options - `signal`: patience has ended when it aborts: the handlers' signals abort, and the tries that are
   * left are given up.
   * @returns when no handler runs any more; the same promise for every call.
   */
  stop({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    this.#stopping ??= this.#stop();
    if (signal) this.#cancelWith(signal);
    return this.#stopping;
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #register(handler: unknown, self: () => unknown): void {
    if (typeof handler !== 'function') throw invalid('handler', 'a function', handler);
    if (this.#handler) throw invalid('handler', 'given once', 'a second one');
    this.#handler = (item, context) => handler.call(self(), item, context);
  }

  #become(next: WorkerState): void {
    if (NEXT[this.#state].includes(next)) this.#state = next;
  }

  #open(): void {
    const handler = this.#handler;
    if (!handler) throw ERRORS.create('WORKER_WITHOUT_HANDLER', { worker: this.#config.name });
    this.#become('RUNNING');
    this.#turnAt = this.#clock.monotonicMs();
    const loops = Array.from({ length: this.#config.concurrency }, () => this.#loop(handler));
    void Promise.all(loops).then(() => {
      if (!this.#failedForGood) this.#become('STOPPED');
      this.#end();
      return this.#lifecycle.stop();
    });
  }

  async #stop(): Promise<void> {
    if (this.#state !== 'IDLE') this.#become('STOPPING');
    this.#polling.abort();
    await this.#lifecycle.stop();
    this.#become('STOPPED');
    this.#end();
  }

  #cancelWith(signal: AbortSignal): void {
    const cancel = () => this.#working.abort(signal.reason);
    if (signal.aborted) cancel();
    else void this.ended.then(onAbort(signal, cancel));
  }

  async #loop(handler: WorkHandler<T>): Promise<void> {
    const { signal } = this.#polling;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const item = (await this.#queue.get(this.#poll)) ?? (await this.#takeLast());
        if (item === undefined) return;
        failures = 0;
        if (item) await this.#process(item, handler);
      } catch (error) {
        if (signal.aborted) return;
        // Nobody can start it again: this is an end, as that of a closed queue.
        if (FOUNDATION_ERRORS.is(error, 'SERVICE_STOPPED'))
          return logSafely(this.#log, 'warn', { err: error }, 'The queue was stopped, so its worker ends');
        await this.#pauseAfter(error, ++failures);
      }
    }
  }

  /** After a look that gave nothing: null when more may come, undefined when the queue is closed and drained. */
  async #takeLast(): Promise<QueueItem<T> | null | undefined> {
    if (!this.#queue.closed) return null;
    // The look may have run into its timeout just before the close, and what a dead client of a shared queue has taken comes back with its
    // lease: null without a limit of time says that there is nothing left.
    const { signal } = this.#polling;
    return (await this.#queue.get({ timeoutMs: Infinity, signal })) ?? undefined;
  }

  async #process(item: QueueItem<T>, handler: WorkHandler<T>): Promise<void> {
    const { maxRetries, backoff, stopOnError } = this.#config;
    const failure = await processItem({
      item,
      handler,
      maxRetries,
      backoff,
      clock: this.#clock,
      log: this.#log,
      cancelled: this.#working.signal,
    });
    if (failure) {
      this.#become('ERROR');
      if (stopOnError) {
        this.#failedForGood = true;
        this.#polling.abort();
      }
      await this.#tellFailure(item, failure.thrown);
    } else if (!this.#failedForGood) this.#become('RUNNING');
    if (++this.#handled % TURN_EVERY_ITEMS === 0) this.#turn ??= this.#takeTurn();
    if (this.#turn) await this.#turn;
  }

  /** One turn for all loops: while a single one went on, the timer could not fire. */
  #takeTurn(): Promise<void> | undefined {
    const now = this.#clock.monotonicMs();
    if (now - this.#turnAt < TURN_EVERY_MS) return undefined;
    this.#turnAt = now;
    return sleep(this.#clock, 0).then(() => {
      this.#turn = undefined;
    });
  }

  async #tellFailure(item: QueueItem<T>, thrown: unknown): Promise<void> {
    const { code, message } = toWorkError(thrown);
    logSafely(
      this.#log,
      'error',
      { item: item.id, code, err: thrown },
      `An item failed for good: ${message}`,
    );
    try {
      await this.#config.onError?.(item, thrown);
    } catch (error) {
      const { message: reason } = toWorkError(error);
      logSafely(this.#log, 'error', { item: item.id, err: error }, `onError failed itself: ${reason}`);
    }
  }

  async #pauseAfter(error: unknown, failures: number): Promise<void> {
    const delayMs = withJitter(queueBackoff(failures), -QUEUE_PAUSE_JITTER, this.#rng.next());
    const { code, message } = toWorkError(error);
    logSafely(this.#log, 'warn', { failures, delayMs, code, err: error }, `The queue failed: ${message}`);
    await sleep(this.#clock, delayMs, this.#polling.signal);
  }
}

const invalid = (option: string, expected: string, given: unknown) =>
  FOUNDATION_ERRORS.create('OPTION_INVALID', { owner: 'Worker', option, expected, given: printable(given) });
