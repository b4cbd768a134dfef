import type { OpId } from '../op-id.js';

/** Length up to which deleted ids are never removed. */
const TIDY_LENGTH = 64;

/**
 * A sorted set of ids. Ids of version 7 arrive almost in order, so an id is nearly always added at the end. A deleted id
 * stays in the list until half of the list is deleted.
 */
export class IdOrder {
  #sorted: OpId[] = [];
  readonly #members = new Set<OpId>();

  /** Number of ids. */
  get size(): number {
    return this.#members.size;
  }

  /** Adds an id. Does nothing if it is in the set. */
  add(opId: OpId): void {
    if (this.#members.has(opId)) return;
    this.#members.add(opId);
    const place = this.#firstFrom(opId);
    if (this.#sorted[place] !== opId) this.#sorted.splice(place, 0, opId);
  }

  /** Removes an id. Does nothing if it is not in the set. */
  delete(opId: OpId): void {
    if (!this.#members.delete(opId)) return;
    const { length } = this.#sorted;
    if (length > TIDY_LENGTH && length > 2 * this.#members.size)
      this.#sorted = this.#sorted.filter((id) => this.#members.has(id));
  }

  /** Yields the ids behind `after` in ascending order. */
  *ascending(after: OpId | undefined): Generator<OpId> {
    for (let place = after === undefined ? 0 : this.#firstFrom(after); place < this.#sorted.length; place++) {
      const opId = this.#sorted[place] as OpId;
      if (opId !== after && this.#members.has(opId)) yield opId;
    }
  }

  /** Yields the ids before `before` in descending order. */
  *descending(before: OpId | undefined): Generator<OpId> {
    let place = before === undefined ? this.#sorted.length : this.#firstFrom(before);
    while (--place >= 0) {
      const opId = this.#sorted[place] as OpId;
      if (this.#members.has(opId)) yield opId;
    }
  }

  /** Returns the index of the first id that is not lower. */
  #firstFrom(opId: OpId): number {
    const last = this.#sorted.at(-1);
    if (last === undefined || last < opId) return this.#sorted.length;
    let [low, high] = [0, this.#sorted.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] as OpId) < opId) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
