import { ERRORS } from './errors.js';

/**
 * The state of a service.
 *
 * ```
 *   IDLE ──start()──▶ STARTING ──▶ RUNNING ──stop()──▶ STOPPING ──▶ STOPPED
 *    ▲                   │ fails                                       ▲
 *    └───────────────────┘                                             │
 *    └──────────────────────── stop() ─────────────────────────────────┘
 * ```
 * STOPPED is final: a start that is still in progress must not undo an earlier stop.
 */
export type ServiceState = 'IDLE' | 'STARTING' | 'RUNNING' | 'STOPPING' | 'STOPPED';

/** A long-lived object. Both calls are idempotent, and concurrent calls share one promise. */
export interface Service extends AsyncDisposable {
  /** Resolves when the service works. */
  start(): Promise<void>;
  /** Resolves when the service has ended. May be called at any time. */
  stop(): Promise<void>;
}

/** The work of a service at the two ends of its life. */
export interface LifecycleSteps {
  /** Opens the resources of the service. If it fails, it releases them first; it may be called again. */
  start(): Promise<void> | void;
  /** Releases the resources. Called at most once, after a successful start. */
  stop(): Promise<void> | void;
}

/** Implements Service on top of two steps. A service delegates to it. */
export class Lifecycle implements Service {
  #state: ServiceState = 'IDLE';
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  /** @param name - for the error of a start after the stop. */
  constructor(
    private readonly name: string,
    private readonly steps: LifecycleSteps,
  ) {}

  /** The current state. */
  get state(): ServiceState {
    return this.#state;
  }

  /** @throws MillraceError `SERVICE_STOPPED` after `stop`, and what the start step throws. */
  start(): Promise<void> {
    if (this.#stopping) return Promise.reject(ERRORS.create('SERVICE_STOPPED', { service: this.name }));
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Waits for a start in progress first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(): Promise<void> {
    this.#state = 'STARTING';
    try {
      // Inside a promise: a step that throws synchronously must not get here before `start` has stored this promise.
      await new Promise((resolve) => resolve(this.steps.start()));
      this.#state = 'RUNNING';
    } catch (error) {
      this.#state = 'IDLE';
      this.#starting = undefined;
      throw error;
    }
  }

  async #stop(): Promise<void> {
    // The caller of start() gets its failure; here it only matters whether there is something to release.
    const started = await this.#starting?.then(
      () => true,
      () => false,
    );
    this.#state = 'STOPPING';
    try {
      if (started) await this.steps.stop();
    } finally {
      this.#state = 'STOPPED';
    }
  }
}
