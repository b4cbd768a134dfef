/** A value's place in a LinkedList; only its list changes it. */
export interface Link<T> {
  readonly value: T;
  previous: Link<T> | undefined;
  next: Link<T> | undefined;
}

/** First in, first out, and anything between can leave in O(1): a cancelled task costs no search. */
export class LinkedList<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  /** How many values it holds. */
  get size(): number {
    return this.#size;
  }

  /** The oldest value. */
  get first(): T | undefined {
    return this.#first?.value;
  }

  /**
   * Appends a value.
   * @returns its place, for `remove`.
   */
  push(value: T): Link<T> {
    const link: Link<T> = { value, previous: this.#last, next: undefined };
    if (this.#last) this.#last.next = link;
    else this.#first = link;
    this.#last = link;
    this.#size++;
    return link;
  }

  /** The values, oldest first. */
  *values(): IterableIterator<T> {
    for (let link = this.#first; link; link = link.next) yield link.value;
  }

  /** Takes the oldest value out. */
  shift(): T | undefined {
    const link = this.#first;
    if (link) this.remove(link);
    return link?.value;
  }

  /**
   * Takes a value out, wherever it stands.
   * @param link - its place; it must be in this list.
   */
  remove(link: Link<T>): void {
    const { previous, next } = link;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    this.#size--;
  }
}
