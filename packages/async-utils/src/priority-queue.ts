/** The largest priority; 0 is the smallest. */
export const PRIORITY_MAX = 10;

/** A task that waits for a slot. */
export interface Waiter {
  readonly priority: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Takes the task's abort listener off, when it has one. */
  offAbort: (() => void) | undefined;
  /** The links belong to the queue. */
  previous: Waiter | undefined;
  next: Waiter | undefined;
}

/**
 * Larger priority first, first come first served within one priority. Eleven linked lists and a bit mask of those
 * that hold something: adding, taking and removing cost the same however many wait.
 */
export class PriorityQueue {
  size = 0;
  #heads: (Waiter | undefined)[] = [];
  #tails: (Waiter | undefined)[] = [];
  #filled = 0;

  push(waiter: Waiter): void {
    const { priority } = waiter;
    const tail = this.#tails[priority];
    if (tail) {
      tail.next = waiter;
      waiter.previous = tail;
    } else {
      this.#heads[priority] = waiter;
      this.#filled |= 1 << priority;
    }
    this.#tails[priority] = waiter;
    this.size++;
  }

  shift(): Waiter | undefined {
    const first = this.#heads[31 - Math.clz32(this.#filled)];
    if (first) this.remove(first);
    return first;
  }

  /** Takes out a waiter that is in the queue. */
  remove(waiter: Waiter): void {
    const { priority, previous, next } = waiter;
    if (previous) previous.next = next;
    else this.#heads[priority] = next;
    if (next) next.previous = previous;
    else this.#tails[priority] = previous;
    if (!previous && !next) this.#filled &= ~(1 << priority);
    waiter.previous = waiter.next = undefined;
    this.size--;
  }
}
