import { describe, expect, it } from 'vitest';
import { shardTag, slotOf } from '../../src/rules/shard-tag.js';

const tagsOf = (shards: number) => Array.from({ length: shards }, (_, shard) => shardTag(shard, shards));

describe('bulk-action BA-18: the hash tags of shards', () => {
  it('bulk-action BA-18: slots are those of Redis', () => {
    // As CLUSTER KEYSLOT answers.
    expect(['123456789', 'foo', '0', '1', '2'].map(slotOf)).toEqual([12_739, 12_182, 13_907, 9842, 5649]);
  });

  it('bulk-action BA-18: never change', () => {
    expect(tagsOf(1)).toEqual(['0']);
    expect(tagsOf(3)).toEqual(['0', '1.2', '2']);
    expect(tagsOf(6)).toEqual(['0', '1.2', '2.11', '3.1', '4.2', '5.1']);
  });

  it.each([2, 3, 4, 5, 6, 12, 100, 1024])(
    'bulk-action BA-18: of %i shards each has a part of the slots of its own, and the first is always 0',
    (shards) => {
      const tags = tagsOf(shards);
      expect(tags[0]).toBe('0');
      expect(new Set(tags).size).toBe(shards);
      expect(new Set(tags.map((tag) => Math.floor((slotOf(tag) * shards) / 16_384))).size).toBe(shards);
    },
  );
});
