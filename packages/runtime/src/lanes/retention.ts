import { type Linked, LinkedList } from '@millrace/foundation';

/** The bounds of what is kept after its end. */
export interface RetentionLimits {
  /** Longest time after the end, in milliseconds. */
  readonly ttlMs: number;
  /** Largest number. */
  readonly max: number;
}

interface Kept<T> extends Linked<Kept<T>> {
  readonly value: T;
  readonly endedAtMs: number;
}

/** Keeps the order in which values ended and returns those that exceed the limits. Reads no clock. */
export class Retention<T> {
  readonly #limits: RetentionLimits;
  /** Oldest end first, so expired values are in front. */
  readonly #kept = new LinkedList<Kept<T>>();

  constructor(limits: RetentionLimits) {
    this.#limits = limits;
  }

  /** Number of values kept. */
  get size(): number {
    return this.#kept.size;
  }

  /**
   * Keeps a value that has just ended.
   * @param nowMs - the present; never earlier than in the call before.
   */
  add(value: T, nowMs: number): void {
    this.#kept.push({ value, endedAtMs: nowMs, previous: undefined, next: undefined });
  }

  /** Removes the values that exceed the time or the number, the oldest first, and returns them. */
  sweep(nowMs: number): T[] {
    const gone: T[] = [];
    for (let oldest = this.#kept.first; oldest; oldest = this.#kept.first) {
      const expired = nowMs - oldest.endedAtMs >= this.#limits.ttlMs;
      if (!expired && this.#kept.size <= this.#limits.max) break;
      this.#kept.shift();
      gone.push(oldest.value);
    }
    return gone;
  }
}
