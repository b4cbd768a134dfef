/** What can stand in a Line, in one at a time. */
export interface Linked<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Things in the order in which they came, taken out from anywhere in O(1); the links are in the things themselves.
 *
 * For what comes and goes with every job, instead of a Set: whenever a Set makes a new table, the old one points to it,
 * and once one of them has grown old, all that follow, with all that was in them, live until the next full collection.
 * Measured with three such Sets: 1.7 KB of promoted garbage per job, and a third of its time.
 */
export class Line<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  /** The one that has been in it longest. */
  get first(): T | undefined {
    return this.#first;
  }

  /** How many are in it. */
  get size(): number {
    return this.#size;
  }

  /**
   * Whether a thing that is in no other line is in this one.
   * @param item - the thing.
   */
  has(item: T): boolean {
    return item.before !== undefined || this.#first === item;
  }

  /**
   * Puts something at the end.
   * @param item - in no line.
   */
  add(item: T): void {
    item.before = this.#last;
    if (this.#last) this.#last.after = item;
    else this.#first = item;
    this.#last = item;
    this.#size += 1;
  }

  /**
   * Takes something out; nothing happens when it is not in.
   * @param item - in this line or in none.
   */
  remove(item: T): void {
    if (!this.has(item)) return;
    const { before, after } = item;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    this.#size -= 1;
    // What has gone must not keep its neighbours alive.
    item.before = undefined;
    item.after = undefined;
  }

  /** From the first to the last; what is given may be taken out before the next is asked for. */
  *[Symbol.iterator](): Generator<T> {
    for (let item = this.#first, after: T | undefined; item; item = after) {
      after = item.after;
      yield item;
    }
  }
}
