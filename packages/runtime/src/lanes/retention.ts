import { LinkedList } from './linked-list.js';

/** How much of what has ended is kept. */
export interface RetentionLimits {
  /** How long after its end, in milliseconds. */
  readonly ttlMs: number;
  /** How many at most. */
  readonly max: number;
}

/** Remembers in which order things ended and says which of them have to go; reads no clock. */
export class Retention<T> {
  readonly #limits: RetentionLimits;
  /** Oldest end first: what has expired stands in front. */
  readonly #kept = new LinkedList<{ readonly value: T; readonly endedAtMs: number }>();

  constructor(limits: RetentionLimits) {
    this.#limits = limits;
  }

  /** How many are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /**
   * Keeps what has just ended.
   * @param nowMs - when; never earlier than the one before.
   */
  add(value: T, nowMs: number): void {
    this.#kept.push({ value, endedAtMs: nowMs });
  }

  /**
   * Lets go of what is over its time or over the number, the oldest first.
   * @returns what is no longer kept.
   */
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
