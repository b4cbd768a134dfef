/** What can stand in a fair order, in one at a time. */
export interface Ordered {
  /** Its start tag. Changed by its owner, who puts it into its order again then. */
  start: number;
  readonly number: number;
  /** Where an order keeps it; -1 while it is in none. */
  fairAt: number;
}

/** Children of a place in the heap. */
const CHILDREN = 4;

const isBefore = (startA: number, numberA: number, startB: number, numberB: number): boolean =>
  startA === startB ? numberA < numberB : startA < startB;

/**
 * An order of tenants or groups: the least start tag is first, ties go by arrival. It is a heap of what it compares, apart from the
 * items: those of a large order lie all over the memory, and to touch some on each level took most of the time of a turn.
 *
 * ```
 *   place in the heap ──▶ start, number, slot        slot ──▶ item, place in the heap        item.fairAt = slot
 * ```
 */
export class FairOrder<T extends Ordered> {
  readonly #starts: number[] = [];
  readonly #numbers: number[] = [];
  readonly #slots: number[] = [];
  readonly #items: T[] = [];
  readonly #places: number[] = [];

  /** Number of items. */
  get size(): number {
    return this.#items.length;
  }

  /** All items, in no particular order. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** Returns the item that is first. */
  peek(): T | undefined {
    return this.#items[this.#slots[0] as number];
  }

  /** Returns the first items in order, at most `count`, in O(count log count). */
  first(count: number): T[] {
    const found: T[] = [];
    // A heap of the places that may be next: the children of those that were found.
    const open = new FairOrder<{ start: number; number: number; fairAt: number; place: number }>();
    const add = (place: number) => {
      if (place >= this.size) return;
      const [start, number] = [this.#starts[place] as number, this.#numbers[place] as number];
      open.put({ start, number, fairAt: -1, place });
    };
    add(0);
    for (let next = open.peek(); next && found.length < count; next = open.peek()) {
      open.remove(next);
      found.push(this.#items[this.#slots[next.place] as number] as T);
      for (let child = 1; child <= CHILDREN; child++) add(CHILDREN * next.place + child);
    }
    return found;
  }

  /** Adds an item, or moves it after its start tag has changed. */
  put(item: T): void {
    const { start, number } = item;
    if (!this.#has(item)) {
      item.fairAt = this.#items.length;
      this.#items.push(item);
      this.#rise(item.fairAt, item.fairAt, start, number);
      return;
    }
    const at = this.#places[item.fairAt] as number;
    if (start > (this.#starts[at] as number)) this.#sink(at, item.fairAt, start, number);
    else this.#rise(at, item.fairAt, start, number);
  }

  /** Removes an item. Does nothing if it is not in this order. */
  remove(item: T): void {
    if (!this.#has(item)) return;
    const at = this.#places[item.fairAt] as number;
    this.#freeSlot(item.fairAt);
    item.fairAt = -1;
    const slot = this.#slots.pop() as number;
    const start = this.#starts.pop() as number;
    const number = this.#numbers.pop() as number;
    if (at === this.#slots.length) return;
    if (this.#isBeforeParent(at, start, number)) this.#rise(at, slot, start, number);
    else this.#sink(at, slot, start, number);
  }

  /** Frees a slot: the item of the last one comes there. */
  #freeSlot(slot: number): void {
    const item = this.#items.pop() as T;
    const at = this.#places.pop() as number;
    if (slot === this.#items.length) return;
    this.#items[slot] = item;
    this.#places[slot] = at;
    this.#slots[at] = slot;
    item.fairAt = slot;
  }

  #has(item: T): boolean {
    return item.fairAt >= 0 && this.#items[item.fairAt] === item;
  }

  #isBeforeParent(at: number, start: number, number: number): boolean {
    if (at === 0) return false;
    const parent = Math.floor((at - 1) / CHILDREN);
    return isBefore(start, number, this.#starts[parent] as number, this.#numbers[parent] as number);
  }

  #rise(from: number, slot: number, start: number, number: number): void {
    let at = from;
    while (this.#isBeforeParent(at, start, number)) {
      const parent = Math.floor((at - 1) / CHILDREN);
      this.#move(parent, at);
      at = parent;
    }
    this.#place(at, slot, start, number);
  }

  #sink(from: number, slot: number, start: number, number: number): void {
    const starts = this.#starts;
    const numbers = this.#numbers;
    let at = from;
    for (;;) {
      let child = CHILDREN * at + 1;
      const end = Math.min(child + CHILDREN, starts.length);
      if (child >= end) break;
      let [least, leastNumber] = [starts[child] as number, numbers[child] as number];
      for (let other = child + 1; other < end; other++)
        if (isBefore(starts[other] as number, numbers[other] as number, least, leastNumber)) {
          child = other;
          least = starts[other] as number;
          leastNumber = numbers[other] as number;
        }
      if (!isBefore(least, leastNumber, start, number)) break;
      this.#move(child, at);
      at = child;
    }
    this.#place(at, slot, start, number);
  }

  #move(from: number, to: number): void {
    this.#place(to, this.#slots[from] as number, this.#starts[from] as number, this.#numbers[from] as number);
  }

  #place(at: number, slot: number, start: number, number: number): void {
    this.#slots[at] = slot;
    this.#starts[at] = start;
    this.#numbers[at] = number;
    this.#places[slot] = at;
  }
}
