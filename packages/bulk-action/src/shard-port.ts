import type { DeadLetter, GroupKey, GroupView, Page } from './model.js';
import type { AddAnswer, BulkStore, DeadLetterFilter, GroupDefinition, NewJob } from './ports.js';
import type { GroupFilter } from './store-views.js';

/*
 * What a store offers as one of several shards. A group lives in the shard of its fairness unit; who knows only its key asks the
 * shard that the key names, its home. Where the two differ, the home keeps a claim: key → shard. It is made before the group, so
 * that a crash leaves at most a claim without a group, which is found and removed later.
 */

/** That a group is to live, or lives, in another shard than its home. */
export interface HomeClaim {
  readonly key: GroupKey;
  readonly shard: number;
  /** When it was made or found right, in the store's time: names it, so that one made anew is not removed for it. */
  readonly claimedMs: number;
  readonly ageMs: number;
}

/** Where a group is: `here` in the shard that was asked, else where the claim says. */
export type GroupHome = 'here' | HomeClaim;

/** A part of a list, with the cursor behind each of its items: whoever merges several lists goes on in the middle of a page. */
export interface MarkedPage<T> extends Page<T> {
  readonly marks: readonly string[];
}

/** One of several shards; called by the ShardedStore. */
export interface Shard {
  /** As in GroupStore; a new group that is claimed for another shard is refused. */
  create(definition: GroupDefinition): Promise<'created' | 'known' | 'conflict' | 'elsewhere'>;
  /** As in GroupStore; the same. */
  add(
    definition: GroupDefinition,
    jobs: readonly NewJob[],
    incoming: number,
  ): Promise<AddAnswer | { readonly kind: 'elsewhere' }>;
  /**
   * Claims the key for another shard, unless the group is here or another one has claimed it.
   * @returns what holds now; a claim for the same shard is made anew.
   */
  claim(key: GroupKey, shard: number): Promise<GroupHome>;
  /** Changes nothing; undefined: no such group is known here. */
  locate(key: GroupKey): Promise<GroupHome | undefined>;
  /** Claims that were neither made nor found right for `ageMs`, the oldest first, at most `max`. */
  claims(ageMs: number, max: number): Promise<readonly HomeClaim[]>;
  /**
   * Ends a look at a claim: one whose group was found counts from now on, one without is removed.
   * @param claimedMs - of the claim that was looked at; another one is left alone.
   * @returns whether it was that one.
   */
  check(key: GroupKey, claimedMs: number, found: boolean): Promise<boolean>;
  /** As `StoreViews.groups`. */
  groups(filter: GroupFilter, limit: number, cursor?: string): Promise<MarkedPage<GroupView>>;
  /** As `DeadLetterStore.list`. */
  letters(filter: DeadLetterFilter, limit: number, cursor?: string): Promise<MarkedPage<DeadLetter>>;
}

/** A store that can be one of several. */
export interface BulkShard extends BulkStore {
  readonly shard: Shard;
}
