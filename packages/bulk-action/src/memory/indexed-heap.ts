/**
 * A binary heap whose items know their place: the least is found in O(1), any item is added, moved or removed in
 * O(log n). An item is in at most one heap per index field.
 */
export class IndexedHeap<T extends Record<K, number>, K extends string> {
  readonly #field: K;
  readonly #before: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  /**
   * @param field - the item's field that holds its place; -1 when it is in no heap.
   * @param before - whether the first comes before the second; a strict order.
   */
  constructor(field: K, before: (a: T, b: T) => boolean) {
    this.#field = field;
    this.#before = before;
  }

  /** How many items there are. */
  get size(): number {
    return this.#items.length;
  }

  /** The items in no particular order. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** The least item. */
  peek(): T | undefined {
    return this.#items[0];
  }

  /**
   * The first items in order, in O(count²) however many there are.
   * @param count - how many at most.
   */
  first(count: number): T[] {
    const items = this.#items;
    const found: T[] = [];
    // An item comes after the one above it: only those below what was found can be next.
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

  /** Whether the item is in this heap. */
  has(item: T): boolean {
    return item[this.#field] >= 0 && this.#items[item[this.#field]] === item;
  }

  /** Adds an item, or puts it where it belongs after its key has changed. */
  put(item: T): void {
    if (!this.has(item)) {
      this.#place(item, this.#items.length);
    }
    this.#sink(this.#rise(item[this.#field]));
  }

  /** Takes an item out; nothing happens when it is not in. */
  remove(item: T): void {
    if (!this.has(item)) return;
    const at = item[this.#field];
    const last = this.#items.pop() as T;
    this.#setPlace(item, -1);
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
    this.#setPlace(item, at);
  }

  #setPlace(item: T, at: number): void {
    (item as Record<K, number>)[this.#field] = at;
  }
}
