/**
 * A binary heap whose items know their index: O(1) for the least item, O(log n) to add, move or remove any item. An item
 * is in at most one heap per index field.
 */
export class IndexedHeap<T extends Record<K, number>, K extends string> {
  readonly #field: K;
  readonly #before: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  /**
   * @param field - the field of an item that holds its index, -1 while it is in no heap.
   * @param before - reports whether `a` comes before `b`, in a strict order.
   */
  constructor(field: K, before: (a: T, b: T) => boolean) {
    this.#field = field;
    this.#before = before;
  }

  /** Number of items. */
  get size(): number {
    return this.#items.length;
  }

  /** All items, in no particular order. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** Returns the least item. */
  peek(): T | undefined {
    return this.#items[0];
  }

  /** Returns up to `count` least items in order, in O(count²) whatever the size of the heap. */
  first(count: number): T[] {
    const items = this.#items;
    const found: T[] = [];
    // An item comes after its parent, so only the children of found items can be next.
    const next = items.length > 0 ? [0] : [];
    while (found.length < count && next.length > 0) {
      let least = 0;
      for (let n = 1; n < next.length; n++)
        if (this.#before(items[next[n] as number] as T, items[next[least] as number] as T)) least = n;
      const [at] = next.splice(least, 1) as [number];
      found.push(items[at] as T);
      for (const below of [2 * at + 1, 2 * at + 2]) if (below < items.length) next.push(below);
    }
    return found;
  }

  /** Reports whether the item is in this heap. */
  has(item: T): boolean {
    return item[this.#field] >= 0 && this.#items[item[this.#field]] === item;
  }

  /** Adds an item, or moves it after its key has changed. */
  put(item: T): void {
    if (!this.has(item)) this.#place(item, this.#items.length);
    this.#sink(this.#rise(item[this.#field]));
  }

  /** Removes an item. Does nothing if it is not in this heap. */
  remove(item: T): void {
    if (!this.has(item)) return;
    const at = item[this.#field];
    const last = this.#items.pop() as T;
    this.#setIndex(item, -1);
    if (last === item) return;
    this.#place(last, at);
    this.#sink(this.#rise(at));
  }

  #rise(from: number): number {
    let at = from;
    const item = this.#items[at] as T;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.#before(item, above)) break;
      this.#place(above, at);
      at = parent;
    }
    this.#place(item, at);
    return at;
  }

  #sink(from: number): void {
    let at = from;
    const item = this.#items[at] as T;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#items.length) break;
      const right = this.#items[child + 1];
      if (right !== undefined && this.#before(right, this.#items[child] as T)) child += 1;
      const below = this.#items[child] as T;
      if (!this.#before(below, item)) break;
      this.#place(below, at);
      at = child;
    }
    this.#place(item, at);
  }

  #place(item: T, at: number): void {
    this.#items[at] = item;
    this.#setIndex(item, at);
  }

  #setIndex(item: T, at: number): void {
    (item as Record<K, number>)[this.#field] = at;
  }
}
