import type { ResolvedBulkActionConfig } from '../options.js';
import { pointEveryMs } from '../rules/congestion-history.js';
import { largestShares } from '../rules/fair-share.js';
import { mergePages, positionsOf } from '../rules/shard-pages.js';
import { mergeQueues, mergeResources } from '../rules/shard-views.js';
import type { StoreViews } from '../store-views.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';

const isNothing = (answer: unknown): boolean => answer === undefined;

/** Views over several shards: what a shard does not tell is not left out in silence, the look fails. */
export function shardedViews(
  shards: Shards,
  places: Places,
  { congestion }: Pick<ResolvedBulkActionConfig, 'congestion'>,
): StoreViews {
  const look = <T>(key: string, call: (views: StoreViews) => Promise<T | undefined>) =>
    places.at(key, ({ views }) => call(views), isNothing);
  return {
    group: (key) => look(key, (views) => views.group(key)),
    result: (key, round) => look(key, (views) => views.result(key, round)),
    job: (key, jobId) => look(key, (views) => views.job(key, jobId)),
    async groups(filter, limit, cursor) {
      const positions = positionsOf(cursor, shards.count);
      const pages = await shards.all(async ({ shard }, at) => {
        const position = positions[at];
        return position === 'ended' ? undefined : shard.groups(filter, limit, position?.cursor);
      });
      return mergePages(positions, pages, limit, ({ createdAt }) => createdAt);
    },
    async activeGroups(limit) {
      const groups = (await shards.all(({ views }) => views.activeGroups(limit))).flat();
      return groups.sort((a, b) => b.createdAt - a.createdAt).slice(0, limit);
    },
    jobs: (key, filter, limit, cursor) =>
      places.at(
        key,
        ({ views }) => views.jobs(key, filter, limit, cursor),
        ({ items, cursor: next }) => items.length === 0 && next === undefined,
      ),
    tenant: (tenantId) => shards.at(shards.of(tenantId)).views.tenant(tenantId),
    async fairness(limit) {
      // All of each: shares are parts of the sum of all.
      const tenants = await shards.all(({ views }) => views.fairness(Number.POSITIVE_INFINITY));
      return largestShares(
        tenants.flat().map(({ share: _, fairShare: __, ...tenant }) => tenant),
        limit,
      );
    },
    queues: async () => mergeQueues(await shards.all(({ views }) => views.queues())),
    resources: async () =>
      mergeResources(
        await shards.all(({ views }) => views.resources()),
        pointEveryMs(congestion.statsRetentionMs),
      ),
    slowness: (key) => look(key, (views) => views.slowness(key)),
    explain: (key, jobId) => look(key, (views) => views.explain(key, jobId)),
  };
}
