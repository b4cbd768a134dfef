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

/** Tells listeners in this process what happened; only after it was committed. */
export class OutboxEvents {
  readonly #listeners = new Map<keyof OutboxEventMap, Set<Listener<never>>>();

  /**
   * Listens.
   * @param name - what to hear of.
   * @param listener - must not throw.
   * @returns a function that ends the listening.
   */
  on<K extends keyof OutboxEventMap>(name: K, listener: Listener<K>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener as Listener<never>));
    return () => listeners.delete(listener as Listener<never>);
  }

  /** Tells everybody who listens. */
  emit<K extends keyof OutboxEventMap>(name: K, event: OutboxEventMap[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) (listener as Listener<K>)(event);
  }
}
