import { type Logger, silentLogger, toWorkError } from '@millrace/foundation';
import type { Batch } from './model.js';

/** How one try of a task ended, for metrics. */
export type TaskResult = 'done' | 'skipped' | 'retried' | 'failed' | 'lost' | 'returned';

/** What happens in this process, by name. */
export interface OutboxEventMap {
  /** A try of a task has ended, and its end is written. */
  readonly task: {
    readonly handler: string;
    readonly result: TaskResult;
    readonly durationMs: number;
    /** Whose try it was, for those who watch a batch. */
    readonly tenant: string;
    readonly batchId: string;
    readonly taskKey: string;
  };
  /**
   * A batch was started here, by the Pusher or by a schedule. Not told of a start in the caller's own transaction: whether that commits is not
   * known here; and not when the answer of the database was lost.
   */
  readonly started: Pick<Batch, 'id' | 'tenant' | 'dag' | 'bizKey'>;
  /** A batch has ended. */
  readonly batch: Pick<Batch, 'id' | 'tenant' | 'dag' | 'bizKey' | 'status'>;
  /** Leases of workers that fell silent were ended here. */
  readonly 'lease-expired': { readonly count: number };
}

type Listener<K extends keyof OutboxEventMap> = (event: OutboxEventMap[K]) => void;

/** Tells listeners in this process what happened; only after it was committed. A listener that throws hurts nobody. */
export class OutboxEvents {
  readonly #logger: Logger;
  readonly #listeners = new Map<keyof OutboxEventMap, Set<Listener<never>>>();

  /** @param logger - told what listeners throw; nobody is unless given. */
  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  /**
   * Listens.
   * @param listener - what it throws is logged; a promise of it is not waited for.
   * @returns a function that ends the listening.
   */
  on<K extends keyof OutboxEventMap>(name: K, listener: Listener<K>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener as Listener<never>));
    return () => listeners.delete(listener as Listener<never>);
  }

  /** Tells everybody who listens. */
  emit<K extends keyof OutboxEventMap>(name: K, event: OutboxEventMap[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        (listener as Listener<K>)(event);
      } catch (error) {
        // What it is told has happened: nobody who only listens may keep a worker from going on.
        this.#logger.error(
          { event: name, reason: toWorkError(error).message },
          'A listener of an event failed',
        );
      }
    }
  }
}
