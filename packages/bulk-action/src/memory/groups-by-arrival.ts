import type { GroupRecord } from './records.js';

/** Fewer places of removed groups are not worth a walk over all. */
const HOLES_MIN = 64;

/**
 * Groups by their number of arrival. Jobs are numbered by the same counter, so that between two groups there may be millions of numbers
 * without one: whoever goes through the groups goes from one to the next.
 */
export class GroupsByArrival {
  /** Numbers only grow: what is appended is in order. */
  #places: (GroupRecord | undefined)[] = [];
  /** The numbers of the places, also of those that are empty now. */
  #seqs: number[] = [];
  #holes = 0;

  /**
   * Adds a group.
   * @param group - with a number above all others.
   */
  add(group: GroupRecord): void {
    this.#places.push(group);
    this.#seqs.push(group.seq);
  }

  /**
   * The group of a number.
   * @param seq - its number of arrival.
   */
  get(seq: number): GroupRecord | undefined {
    const at = this.#after(seq) - 1;
    return this.#seqs[at] === seq ? this.#places[at] : undefined;
  }

  /**
   * Takes a group out; does nothing for one that is not there.
   * @param group - which.
   */
  remove(group: GroupRecord): void {
    const at = this.#after(group.seq) - 1;
    if (this.#places[at] !== group) return;
    this.#places[at] = undefined;
    this.#holes += 1;
    if (this.#holes < HOLES_MIN || this.#holes < this.#places.length / 2) return;
    this.#places = this.#places.filter((place) => place !== undefined);
    this.#seqs = this.#places.map((place) => place?.seq ?? 0);
    this.#holes = 0;
  }

  /**
   * Groups from a number down to the first.
   * @param seq - the greatest number.
   */
  *downFrom(seq: number): Generator<GroupRecord, void, undefined> {
    for (let at = this.#after(seq) - 1; at >= 0; at--) {
      const group = this.#places[at];
      if (group) yield group;
    }
  }

  /** How many places have a number up to this one. */
  #after(seq: number): number {
    let low = 0;
    let high = this.#seqs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#seqs[middle] as number) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
