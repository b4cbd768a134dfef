import type { GroupKey } from '../model.js';
import type { BulkShard } from '../shard-port.js';
import type { Shards } from './shards.js';

/** Groups remembered that live elsewhere than at home. */
const KNOWN_MAX = 10_000;

/** Where groups are: at home, as far as nothing else is known. */
export class Places {
  readonly #shards: Shards;
  /** Only those that are not at home; may be out of date, so "not found" there is not the last word. */
  readonly #known = new Map<GroupKey, number>();

  /** @param shards - all of them. */
  constructor(shards: Shards) {
    this.#shards = shards;
  }

  /** Where a group is most likely. */
  guess(key: GroupKey): number {
    return this.#known.get(key) ?? this.#shards.homeOf(key);
  }

  /** Notes where a group was seen. */
  note(key: GroupKey, shard: number): void {
    if (shard === this.#shards.homeOf(key)) {
      this.#known.delete(key);
      return;
    }
    this.#known.delete(key);
    this.#known.set(key, shard);
    if (this.#known.size <= KNOWN_MAX) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest as GroupKey);
  }

  /**
   * Asks the home of a group where it is.
   * @returns undefined when nobody knows it.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  async find(key: GroupKey): Promise<number | undefined> {
    const home = this.#shards.homeOf(key);
    const where = await this.#shards.at(home).shard.locate(key);
    if (where === undefined) {
      this.#known.delete(key);
      return undefined;
    }
    const shard = where === 'here' ? home : where.shard;
    if (shard >= this.#shards.count) return undefined;
    this.note(key, shard);
    return shard;
  }

  /**
   * Calls the shard of a group: that where it is most likely, and where it is not there the one that its home names.
   * @param key - of the group.
   * @param call - writes nothing where the group is not.
   * @param isMissing - whether an answer says that the group is not there.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  async at<T>(
    key: GroupKey,
    call: (store: BulkShard) => Promise<T>,
    isMissing: (answer: T) => boolean,
  ): Promise<T> {
    const guess = this.guess(key);
    const answer = await call(this.#shards.at(guess));
    if (!isMissing(answer)) return answer;
    const found = await this.find(key);
    return found === undefined || found === guess ? answer : call(this.#shards.at(found));
  }
}
