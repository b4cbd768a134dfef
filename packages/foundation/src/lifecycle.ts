import { ERRORS } from './errors.js';

/**
 * Where a service is in its life.
 *
 * ```
 *   IDLE ──start()──▶ STARTING ──▶ RUNNING ──stop()──▶ STOPPING ──▶ STOPPED
 *    ▲                   │ fails                                       ▲
 *    └───────────────────┘                                             │
 *    └──────────────────────── stop() ─────────────────────────────────┘
 * ```
 * STOPPED is final: a shutdown that comes before the start-up has finished must not be undone by it.
 */
export type ServiceState = 'IDLE' | 'STARTING' | 'RUNNING' | 'STOPPING' | 'STOPPED';

/** Every long-lived object: both calls are idempotent, and concurrent calls share one promise. */
export interface Service extends AsyncDisposable {
  /** Resolves when the service works. */
  start(): Promise<void>;
  /** Resolves when nothing of the service runs any more; safe at any time. */
  stop(): Promise<void>;
}

/** What a service does at the two ends of its life. */
export interface LifecycleSteps {
  /** Opens what the service needs; when it fails it has cleaned up after itself and may be tried again. */
  start(): Promise<void> | void;
  /** Ends everything; called at most once, and only after a start that succeeded. */
  stop(): Promise<void> | void;
}

/** Keeps the promises of Service for the two steps it is given; a service delegates to it. */
export class Lifecycle implements Service {
  readonly #name: string;
  readonly #steps: LifecycleSteps;
  #state: ServiceState = 'IDLE';
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(name: string, steps: LifecycleSteps) {
    this.#name = name;
    this.#steps = steps;
  }

  /** Where the service is now. */
  get state(): ServiceState {
    return this.#state;
  }

  /**
   * Starts once, however often it is called.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`; whatever the start step throws.
   */
  start(): Promise<void> {
    if (this.#stopping) return Promise.reject(ERRORS.create('SERVICE_STOPPED', { service: this.#name }));
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Stops once, however often it is called; waits for a start that is under way. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(): Promise<void> {
    this.#state = 'STARTING';
    try {
      // Inside a promise: a step that throws at once must not get here before `start` has stored this call's promise.
      await new Promise((resolve) => resolve(this.#steps.start()));
      this.#state = 'RUNNING';
    } catch (error) {
      this.#state = 'IDLE';
      this.#starting = undefined;
      throw error;
    }
  }

  async #stop(): Promise<void> {
    // The one who called start() gets its failure; stop() only has to know whether there is something to end.
    const started = await this.#starting?.then(
      () => true,
      () => false,
    );
    this.#state = 'STOPPING';
    try {
      if (started) await this.#steps.stop();
    } finally {
      this.#state = 'STOPPED';
    }
  }
}
