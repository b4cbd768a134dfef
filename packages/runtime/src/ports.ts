import type { QueueItem } from './model.js';

/** How long a blocking call waits, and what ends it early. */
export interface QueueWaitOptions {
  /** Milliseconds; without it the queue's `defaultTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait at once with an AbortError (`ABORTED`). */
  readonly signal?: AbortSignal | undefined;
}

/** A bounded queue, in memory or shared by many processes. One contract suite holds for all. */
export interface Queue<T> extends AsyncIterable<QueueItem<T>> {
  /**
   * Appends a payload; waits while the queue is full.
   * @throws MillraceError `QUEUE_FULL` when the time is up, `QUEUE_CLOSED` after `close`, `QUEUE_PAYLOAD_INVALID` when
   * the store cannot carry it; AbortError (`ABORTED`).
   */
  put(payload: T, options?: QueueWaitOptions): Promise<QueueItem<T>>;
  /**
   * Appends a payload, or answers null at once when the queue is full.
   * @throws MillraceError `QUEUE_CLOSED`, `QUEUE_PAYLOAD_INVALID`.
   */
  tryPut(payload: T): Promise<QueueItem<T> | null>;
  /**
   * Takes the oldest item; waits while there is none. Waiting getters are served first come, first served.
   * @returns the item; null when the time is up, or when the queue is closed and drained.
   * @throws AbortError (`ABORTED`).
   */
  get(options?: QueueWaitOptions): Promise<QueueItem<T> | null>;
  /** Refuses further puts; consumers drain what is there and then get null. Idempotent. */
  close(): Promise<void>;
  /** How many items wait. */
  size(): Promise<number>;
  /** Whether `close` is known to have been called. */
  readonly closed: boolean;
}
