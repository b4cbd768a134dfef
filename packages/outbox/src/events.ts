import { type Logger, silentLogger, toWorkError } from '@millrace/foundation';
import type { Batch } from './model.js';

/** The end of an attempt, for metrics. */
export type TaskResult = 'done' | 'skipped' | 'retried' | 'failed' | 'lost' | 'returned';

/** Events of this process. */
export interface OutboxEventMap {
  /** An attempt of a task has ended, and its end is stored. */
  readonly task: {
    readonly handler: string;
    readonly result: TaskResult;
    readonly durationMs: number;
    readonly tenant: string;
    readonly batchId: string;
    readonly taskKey: string;
  };
  /**
   * The Pusher or a schedule has started a batch here. Not emitted for a start in the caller's own transaction, which may not
   * commit, nor if the reply of the database was lost.
   */
  readonly started: Pick<Batch, 'id' | 'tenant' | 'dag' | 'bizKey'>;
  /** A batch has ended. */
  readonly batch: Pick<Batch, 'id' | 'tenant' | 'dag' | 'bizKey' | 'status'>;
  /** This process has released claims whose lease had expired. */
  readonly 'lease-expired': { readonly count: number };
}

type Listener<K extends keyof OutboxEventMap> = (event: OutboxEventMap[K]) => void;

/** Calls listeners in this process, only after what happened was committed. A listener that throws changes nothing. */
export class OutboxEvents {
  readonly #logger: Logger;
  readonly #listeners = new Map<keyof OutboxEventMap, Set<Listener<never>>>();

  /** @param logger - for errors of listeners. (none) */
  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  /**
   * Subscribes to an event.
   * @param listener - if it throws, the error is logged. A promise is not awaited.
   * @returns a function that unsubscribes.
   */
  on<K extends keyof OutboxEventMap>(name: K, listener: Listener<K>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener as Listener<never>));
    return () => listeners.delete(listener as Listener<never>);
  }

  /** Calls the listeners of an event. */
  emit<K extends keyof OutboxEventMap>(name: K, event: OutboxEventMap[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        (listener as Listener<K>)(event);
      } catch (error) {
        // The event has happened. A listener must not stop a worker.
        this.#logger.error(
          { event: name, reason: toWorkError(error).message },
          'A listener of an event failed',
        );
      }
    }
  }
}
