import { IndexedHeap } from './indexed-heap.js';

/** A claim on the place of a group; see Shard. */
export interface ClaimRecord {
  readonly key: string;
  readonly shard: number;
  claimedMs: number;
  heapAt: number;
}

/** The claims of a shard, by key and by age. */
export class ClaimRecords {
  readonly #byKey = new Map<string, ClaimRecord>();
  readonly #byAge = new IndexedHeap<ClaimRecord, 'heapAt'>(
    'heapAt',
    (a, b) => a.claimedMs < b.claimedMs || (a.claimedMs === b.claimedMs && a.key < b.key),
  );

  /** Whether the key is claimed. */
  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** The claim on a key. */
  get(key: string): ClaimRecord | undefined {
    return this.#byKey.get(key);
  }

  /** The oldest, in order. */
  first(count: number): readonly ClaimRecord[] {
    return this.#byAge.first(count);
  }

  /** Keeps a claim, or notes that it was made anew. */
  put(claim: ClaimRecord): void {
    this.#byKey.set(claim.key, claim);
    this.#byAge.put(claim);
  }

  /** Forgets a claim. */
  remove(claim: ClaimRecord): void {
    this.#byKey.delete(claim.key);
    this.#byAge.remove(claim);
  }
}
