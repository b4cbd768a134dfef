import type { Tx } from '@millrace/postgres';
import { LentTx } from './lent-tx.js';
import type { Batch } from './model.js';

/**
 * Told of the end of a batch, in the transaction that ends it: what it writes through `tx` and the end happen together, once. `tx.commitWith`
 * is refused.
 */
export type BatchEndListener = (tx: Tx, batch: Batch) => Promise<void> | void;

/** Who wants to know when batches end. */
export class BatchListeners {
  readonly #listeners = new Set<BatchEndListener>();

  /** How many there are. */
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

  /** Tells all of them, one after the other; what one throws keeps the batch from ending. */
  async tell(tx: Tx, batch: Batch): Promise<void> {
    if (this.size === 0) return;
    const lent = new LentTx(tx);
    for (const listener of this.#listeners) await listener(lent, batch);
  }
}
