import type { ResourceLimits } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type PackedError, unpackError } from './thread-error.js';

/** What a thread is asked to do. */
export interface ThreadRequest {
  readonly module: string;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** What a thread answers when it lives to do so. */
export type ThreadAnswer = { readonly value: unknown } | { readonly error: PackedError };

const inSource = import.meta.url.endsWith('.ts');
const ENTRY = new URL(inSource ? './run-task.cts' : './run-task.cjs', import.meta.url).href;

/**
 * One thread, from its start to its death, running one task at a time.
 * A piscina of its own for each: a shared one does not tell which thread ran a task nor when that thread is gone, and
 * leaves a task waiting for ever when the thread that was to run it dies while it starts.
 */
export class Thread {
  readonly #piscina: Piscina;
  /** How many tasks the thread has begun, counted by the thread itself. */
  readonly #begun = new Int32Array(new SharedArrayBuffer(4));
  #begunBefore = 0;
  #exited: Promise<void> | undefined;
  #alive = true;
  #death: unknown;
  #lastWords: PackedError | undefined;

  constructor(resourceLimits: Readonly<ResourceLimits>) {
    this.#piscina = new Piscina({
      filename: ENTRY,
      name: 'runTask',
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Infinity,
      resourceLimits,
      workerData: { begun: this.#begun },
      // 2 to 40 µs a task slower than waiting in Atomics (three runs on a shared machine), but the event loop of an
      // idle thread goes on: what a task left behind (a timer that throws) happens in the pause after it and not
      // inside the next task.
      atomics: 'disabled',
    });
    // Told of a death without a task: while idle, or while starting.
    this.#piscina.on('error', (error) => {
      this.#alive = false;
      this.#death = error;
    });
    // Other messages are the user's own, sent through the thread's parentPort.
    this.#piscina.on('message', (message?: { readonly lastWords?: PackedError } | null) => {
      this.#lastWords = message?.lastWords ?? this.#lastWords;
    });
  }

  /** False once it cannot run another task. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Whether the thread has begun the task it was asked to run last; one that it has not can run elsewhere. */
  get begun(): boolean {
    return Atomics.load(this.#begun, 0) > this.#begunBefore;
  }

  /**
   * Runs one task. An abort terminates the thread. Fails only when there is no answer: with what the thread died of,
   * or with the DataCloneError of arguments that cannot be sent; when the thread is dying, not before it is gone.
   */
  async run(request: ThreadRequest, signal: AbortSignal): Promise<ThreadAnswer> {
    this.#lastWords = undefined;
    this.#begunBefore = Atomics.load(this.#begun, 0);
    const answering = this.#piscina.run(request, { signal });
    this.#exited ??= this.#watch();
    try {
      const answer: ThreadAnswer | null = await answering;
      // Piscina takes an uncaught `throw null` for a result.
      if (!answer) throw new Error('null was thrown and not caught');
      return answer;
    } catch (error) {
      if (this.#piscina.threads.length === 0) {
        this.#alive = false;
        await this.#exited;
      }
      throw this.#lastWords ? unpackError(this.#lastWords) : (this.#death ?? error);
    }
  }

  /** Terminates the thread, whatever it does; resolves when it is gone. */
  async close(): Promise<void> {
    this.#alive = false;
    await this.#piscina.destroy();
    await this.#exited;
  }

  #watch(): Promise<void> {
    const [worker] = this.#piscina.threads;
    return new Promise((resolve) => {
      worker?.once('exit', () => {
        this.#alive = false;
        // Fails the task that waited for a thread which died while it started.
        void this.#piscina.destroy();
        resolve();
      });
    });
  }
}
