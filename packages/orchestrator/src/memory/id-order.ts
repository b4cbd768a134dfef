import type { OpId } from '../op-id.js';

/** Fewer left-overs than this are never worth tidying. */
const TIDY_FROM = 64;

/**
 * Ids in their order. Ids of version 7 arrive almost in order, so adding is at the end almost always; an id that leaves stays as a left-over until
 * half of the list are such.
 */
export class IdOrder {
  #sorted: OpId[] = [];
  readonly #members = new Set<OpId>();

  /** How many there are. */
  get size(): number {
    return this.#members.size;
  }

  /** Adds an id; nothing when it is in. */
  add(opId: OpId): void {
    if (this.#members.has(opId)) return;
    this.#members.add(opId);
    const place = this.#firstFrom(opId);
    if (this.#sorted[place] !== opId) this.#sorted.splice(place, 0, opId);
  }

  /** Takes an id out; nothing when it is not in. */
  delete(opId: OpId): void {
    if (!this.#members.delete(opId)) return;
    const { length } = this.#sorted;
    if (length > TIDY_FROM && length > 2 * this.#members.size)
      this.#sorted = this.#sorted.filter((id) => this.#members.has(id));
  }

  /** Ids from the first one behind `after` on, in their order. */
  *ascending(after: OpId | undefined): Generator<OpId> {
    for (let place = after === undefined ? 0 : this.#firstFrom(after); place < this.#sorted.length; place++) {
      const opId = this.#sorted[place] as OpId;
      if (opId !== after && this.#members.has(opId)) yield opId;
    }
  }

  /** Ids from the last one in front of `before` on, backwards. */
  *descending(before: OpId | undefined): Generator<OpId> {
    let place = before === undefined ? this.#sorted.length : this.#firstFrom(before);
    while (--place >= 0) {
      const opId = this.#sorted[place] as OpId;
      if (this.#members.has(opId)) yield opId;
    }
  }

  /** The place of the first id that is not lower. */
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
