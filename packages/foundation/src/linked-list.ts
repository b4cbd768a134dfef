/** The links of an item that can be in a LinkedList, in one at a time. Only the list changes them. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * A queue from which any item can leave in O(1). The links are fields of the items, so nothing is allocated per item.
 *
 * A `Set` keeps the order too, but is no queue: taking the first entry makes a new iterator, which walks over the holes
 * of all entries that have left. Measured on Node 20: 0.2 µs a step with 1,000 entries, 34 µs with 400,000.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  /** Number of items. */
  get size(): number {
    return this.#size;
  }

  /** The oldest item. */
  get first(): T | undefined {
    return this.#first;
  }

  /** Reports whether an item that is in no other list is in this one. */
  has(item: T): boolean {
    return item.previous !== undefined || this.#first === item;
  }

  /** Appends an item that is in no list. */
  push(item: T): void {
    item.previous = this.#last;
    if (this.#last) this.#last.next = item;
    else this.#first = item;
    this.#last = item;
    this.#size += 1;
  }

  /** Removes the oldest item. */
  shift(): T | undefined {
    const item = this.#first;
    if (item) this.#unlink(item);
    return item;
  }

  /** Removes an item that is in this list or in none. Returns whether it was in this one. */
  remove(item: T): boolean {
    if (!this.has(item)) return false;
    this.#unlink(item);
    return true;
  }

  /** Iterates from the oldest item to the newest. The current item may be removed meanwhile. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let item = this.#first, next: T | undefined; item; item = next) {
      next = item.next;
      yield item;
    }
  }

  #unlink(item: T): void {
    const { previous, next } = item;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    this.#size -= 1;
    // An item that has left must not keep its neighbours alive.
    item.previous = undefined;
    item.next = undefined;
  }
}
