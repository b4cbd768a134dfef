/**
 * A list with two ends, O(1) at both: a ring of slots that doubles when it is full.
 */
export class Deque<T> {
  #slots: (T | undefined)[] = [];
  #head = 0;
  #size = 0;

  /** How many items there are. */
  get size(): number {
    return this.#size;
  }

  /** The first item. */
  peek(): T | undefined {
    return this.#size === 0 ? undefined : this.#slots[this.#head];
  }

  /** Puts an item behind the last. */
  push(item: T): void {
    this.#grow();
    this.#slots[(this.#head + this.#size) & (this.#slots.length - 1)] = item;
    this.#size += 1;
  }

  /** Puts an item before the first. */
  unshift(item: T): void {
    this.#grow();
    this.#head = (this.#head - 1 + this.#slots.length) & (this.#slots.length - 1);
    this.#slots[this.#head] = item;
    this.#size += 1;
  }

  /** Takes the first item. */
  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#slots.length - 1);
    this.#size -= 1;
    // A lane that has run empty gives its memory back: there may be 100,000 of them.
    if (this.#size === 0) this.#slots = [];
    if (this.#size === 0) this.#head = 0;
    return item;
  }

  /** How many items come before this one; -1 when it is not here. Looks at every item. */
  indexOf(item: T): number {
    for (let index = 0; index < this.#size; index++) {
      if (this.#slots[(this.#head + index) & (this.#slots.length - 1)] === item) return index;
    }
    return -1;
  }

  /** The items that pass, in order. Looks at every item. */
  filter(passes: (item: T) => boolean): T[] {
    const found: T[] = [];
    for (let index = 0; index < this.#size; index++) {
      const item = this.#slots[(this.#head + index) & (this.#slots.length - 1)] as T;
      if (passes(item)) found.push(item);
    }
    return found;
  }

  #grow(): void {
    if (this.#size < this.#slots.length) return;
    const slots = new Array<T | undefined>(Math.max(4, this.#slots.length * 2));
    for (let index = 0; index < this.#size; index++) {
      slots[index] = this.#slots[(this.#head + index) & (this.#slots.length - 1)];
    }
    this.#slots = slots;
    this.#head = 0;
  }
}
