import type { Tx } from '@millrace/postgres';
import { LentTx } from './lent-tx.js';
import type { Batch } from './model.js';

/**
 * Called for the end of a batch, in the transaction that ends it. What it writes through `tx` and the end happen together,
 * once. `tx.commitWith` is refused.
 */
export type BatchEndListener = (tx: Tx, batch: Batch) => Promise<void> | void;

/** The listeners for the ends of batches. */
export class BatchListeners {
  readonly #listeners = new Set<BatchEndListener>();

  get size(): number {
    return this.#listeners.size;
  }

  /**
   * Adds a listener.
   * @returns a function that removes it.
   */
  add(listener: BatchEndListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls all listeners, one after the other. If one throws, the batch does not end. */
  async tell(tx: Tx, batch: Batch): Promise<void> {
    if (this.size === 0) return;
    const lent = new LentTx(tx);
    for (const listener of this.#listeners) await listener(lent, batch);
  }
}
