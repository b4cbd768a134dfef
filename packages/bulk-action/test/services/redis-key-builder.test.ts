import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REDIS_KEYS, RedisKeyBuilder } from '../../src/index.js';

const DOCUMENT = new URL('../../../../docs/redis-keys.md', import.meta.url);

describe('bulk-action BA-17: RedisKeyBuilder', () => {
  it('bulk-action BA-17: knows every key of docs/redis-keys.md, and no other', () => {
    const [, ours = ''] = readFileSync(DOCUMENT, 'utf8').split('\n## bulk-action\n');
    const documented = [...ours.matchAll(/^\| `<keyPrefix>\{<shard>\}:([^`]+)` \|/gm)].map(([, key]) => key);
    expect(documented.length).toBeGreaterThan(40);
    expect(Object.values(REDIS_KEYS).toSorted()).toEqual(documented.toSorted());
  });

  it('bulk-action BA-17: fills prefix, shard and the parts of a key', () => {
    const keys = new RedisKeyBuilder();
    expect(keys.key('ready')).toBe('bulk-action:{0}:ready');
    expect(keys.key('lane', { group: 'acme/news', round: 2 })).toBe('bulk-action:{0}:l:acme/news:2');
    expect(keys.key('jobs', { group: 'news' })).toBe('bulk-action:{0}:j:/news');
    expect(keys.key('resourceGroupOrder', { tenant: 'acme', resource: 'SMTP' })).toBe(
      'bulk-action:{0}:rg:acme/SMTP',
    );
    const others = new RedisKeyBuilder({ keyPrefix: 'shop:', shard: 3 });
    expect([others.base, others.events]).toEqual(['shop:{3}:', 'shop:{3}:events']);
    const sharded = new RedisKeyBuilder({ shards: 3 });
    expect(sharded.base).toBe('bulk-action:{0}:');
    expect(sharded.ofShard(2).base).toBe('bulk-action:{2}:');
    const bases = [0, 1, 2].map((shard) => sharded.ofShard(shard).base);
    expect(bases).toContain(sharded.ofTenant('acme').base);
    expect(() => keys.key('jobs', { group: 'a b' })).toThrow(expect.objectContaining({ code: 'ID_INVALID' }));
  });
});
