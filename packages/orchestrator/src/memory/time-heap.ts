import type { OpId } from '../op-id.js';

interface Entry {
  readonly opId: OpId;
  readonly at: number;
}

/** Operations by a time. The first is found at once, any one is set or removed in O(log n). */
export class TimeHeap {
  readonly #entries: Entry[] = [];
  readonly #places = new Map<OpId, number>();
  readonly #sign: 1 | -1;

  /** @param order - which time comes first; among equal times the lower id. */
  constructor(order: 'earliest first' | 'latest first' = 'earliest first') {
    this.#sign = order === 'earliest first' ? 1 : -1;
  }

  /** How many there are. */
  get size(): number {
    return this.#entries.length;
  }

  /** The first of all. */
  peek(): Entry | undefined {
    return this.#entries[0];
  }

  /**
   * Puts an operation where its time belongs.
   * @param at - its time; undefined: it is taken out.
   */
  set(opId: OpId, at: number | undefined): void {
    const place = this.#places.get(opId);
    if (place === undefined) {
      if (at === undefined) return;
      this.#moveUp({ opId, at }, this.#entries.length);
      return;
    }
    if (at === undefined) this.#removeAt(place);
    else if (this.#entries[place]?.at !== at) this.#settle({ opId, at }, place);
  }

  #removeAt(place: number): void {
    const removed = this.#entries[place] as Entry;
    const last = this.#entries.pop() as Entry;
    this.#places.delete(removed.opId);
    if (last !== removed) this.#settle(last, place);
  }

  #settle(entry: Entry, place: number): void {
    this.#moveDown(entry, this.#moveUp(entry, place));
  }

  #moveUp(entry: Entry, from: number): number {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = this.#entries[above] as Entry;
      if (!this.#isBefore(entry, other)) break;
      this.#write(other, place);
      place = above;
    }
    this.#write(entry, place);
    return place;
  }

  #moveDown(entry: Entry, from: number): void {
    let place = from;
    for (;;) {
      const left = place * 2 + 1;
      const [one, two] = [this.#entries[left], this.#entries[left + 1]];
      if (one === undefined) break;
      const isRight = two !== undefined && this.#isBefore(two, one);
      const least = isRight ? two : one;
      if (!this.#isBefore(least, entry)) break;
      this.#write(least, place);
      place = isRight ? left + 1 : left;
    }
    this.#write(entry, place);
  }

  #write(entry: Entry, place: number): void {
    this.#entries[place] = entry;
    this.#places.set(entry.opId, place);
  }

  #isBefore(one: Entry, other: Entry): boolean {
    return one.at === other.at ? one.opId < other.opId : (one.at - other.at) * this.#sign < 0;
  }
}
