import { join } from 'node:path';
import { type BulkActionConfig, RedisKeyBuilder } from '@millrace/bulk-action';
import { type Ledger, openLedger, type RedisCluster, startRedisCluster } from '@millrace/testkit';
import { Crew } from '../crew.js';
import type { ScenarioContext } from '../registry.js';
import { BulkClient } from './client.js';
import { KEY_PREFIX, type WorkerBrief } from './settings.js';

/** A Redis Cluster of three masters and three replicas, worker processes, a client and the ledger. */
export interface ClusterWorld extends AsyncDisposable {
  readonly cluster: RedisCluster;
  readonly crew: Crew;
  readonly client: BulkClient;
  readonly ledger: Ledger;
  readonly ledgerPath: string;
}

/** As many as there are masters. */
export const SHARDS = 3;

/** A key of a shard: whoever is its master serves the whole shard. */
export const keyOfShard = (shard: number): string =>
  new RedisKeyBuilder({ keyPrefix: KEY_PREFIX, shard, shards: SHARDS }).key('meta');

/**
 * Starts everything.
 * @param context - the scenario's.
 * @param parts - how many worker processes, and the configuration of all.
 */
export async function openClusterWorld(
  { folder }: ScenarioContext,
  { workers, config }: { readonly workers: number; readonly config: BulkActionConfig },
): Promise<ClusterWorld> {
  const ledgerPath = join(folder, 'ledger');
  const ledger = openLedger(ledgerPath);
  const cluster = await startRedisCluster();
  const redis = { nodes: cluster.nodes.map(({ host, port }) => ({ host, port })) };
  const brief: WorkerBrief = { redis, ledger: ledgerPath, config };
  const crew = new Crew({ program: 'bulk-worker', brief, ledger });
  const client = new BulkClient(redis, config, ledger);
  const close = async () => {
    await crew[Symbol.asyncDispose]();
    await client[Symbol.asyncDispose]();
    await cluster.stop();
    ledger.close();
  };
  try {
    await client.start();
    await crew.start(workers);
  } catch (error) {
    await close();
    throw error;
  }
  return { cluster, crew, client, ledger, ledgerPath, [Symbol.asyncDispose]: close };
}

/** Where the masters of all shards are now. */
export async function mastersOf({ cluster }: ClusterWorld): Promise<readonly string[]> {
  const urls = new Set<string>();
  for (let shard = 0; shard < SHARDS; shard++) urls.add((await cluster.masterOf(keyOfShard(shard))).url);
  return [...urls];
}
