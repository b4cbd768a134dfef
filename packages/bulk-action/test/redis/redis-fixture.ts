import { loadScripts, RedisConnection } from '@millrace/redis';
import { redisSandbox } from '@millrace/testkit';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { BulkScripts } from '../../src/redis/engine-link.js';
import { BULK_SCRIPTS } from '../../src/redis/scripts.js';
import { RedisStore } from '../../src/redis/store.js';
import { shardTag } from '../../src/rules/shard-tag.js';
import type { BulkShard } from '../../src/shard-port.js';
import { ShardedStore } from '../../src/sharding/store.js';
import type { StoreHarness } from '../store-contract/tools.js';

/** Instead of TIME: microseconds in a key of the engine, which the test moves. */
const TEST_NOW = `
local function nowUs()
  return tonumber(redis.call('GET', string.sub(KEYS[1], 1, -5) .. 'clock'))
end
local function now()
  return math.floor(nowUs() / 1000)
end
`;

/** The shipped scripts with a clock that the test moves, and with other files in place of some. */
const clockedScripts = (includes: Readonly<Record<string, string>> = {}): BulkScripts =>
  loadScripts(BULK_SCRIPTS, { includes: { now: TEST_NOW, ...includes } });

/** The shipped scripts with a clock that the test moves. */
export const CLOCKED_SCRIPTS = clockedScripts();
/** When the clock of a store begins. */
export const START_MS = Date.UTC(2026, 0, 1);

/**
 * A store whose time the test moves. Opened again under the same prefix it goes on at the same time.
 * @param connection - stays the caller's.
 */
export async function openClocked(
  connection: RedisConnection,
  keyPrefix: string,
  given: BulkActionConfig = {},
  scripts: BulkScripts = CLOCKED_SCRIPTS,
): Promise<StoreHarness<BulkShard>> {
  const clockKey = `${keyPrefix}{0}:clock`;
  const config = resolveBulkActionConfig(given);
  await connection.call('SET', [clockKey, START_MS * 1000, 'NX']);
  let nowMs = Number(await connection.call('GET', [clockKey])) / 1000;
  const move = async (ms: number) => {
    nowMs += ms;
    await connection.call('SET', [clockKey, Math.round(nowMs * 1000)]);
  };
  const store = new RedisStore(config, { connection, keyPrefix }, scripts);
  await store.start();
  return { store, config, now: async () => nowMs, advance: move, jump: move, close: () => store.stop() };
}

/**
 * Several stores as one, whose time the test moves; each has the whole limits, as test/sharding/open-sharded.ts says.
 * @param connection - stays the caller's.
 * @param shards - how many.
 */
async function openClockedShards(
  connection: RedisConnection,
  keyPrefix: string,
  shards: number,
  given: BulkActionConfig = {},
): Promise<StoreHarness> {
  const config = resolveBulkActionConfig(given);
  let nowMs = START_MS;
  const move = async (ms: number) => {
    nowMs += ms;
    for (let shard = 0; shard < shards; shard++)
      await connection.call('SET', [
        `${keyPrefix}{${shardTag(shard, shards)}}:clock`,
        Math.round(nowMs * 1000),
      ]);
  };
  await move(0);
  const stores = Array.from(
    { length: shards },
    (_, shard) => new RedisStore(config, { connection, keyPrefix, shard, shards }, CLOCKED_SCRIPTS),
  );
  const store = new ShardedStore(config, stores);
  await store.start();
  return { store, config, now: async () => nowMs, advance: move, jump: move, close: () => store.stop() };
}

let opened = 0;

/** One connection and sandbox for a test file; the stores of its tests have prefixes of their own. */
async function openRedisServer() {
  const sandbox = await redisSandbox();
  const connection = new RedisConnection({ url: sandbox.url });
  const place = () => ({ connection, keyPrefix: `${sandbox.namespace}${++opened}:` });
  return {
    place,
    open: (config?: BulkActionConfig, scripts?: BulkScripts) =>
      openClocked(connection, place().keyPrefix, config, scripts),
    openShards: (shards: number, config?: BulkActionConfig) =>
      openClockedShards(connection, place().keyPrefix, shards, config),
    async close(): Promise<void> {
      await connection.stop();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

let server: Promise<Awaited<ReturnType<typeof openRedisServer>>> | undefined;

/** Where a store can be whose keys the test reaches itself: the connection of the file, and a prefix that nobody has. */
export async function placeInRedis(): Promise<{ connection: RedisConnection; keyPrefix: string }> {
  server ??= openRedisServer();
  return (await server).place();
}

/** A store on the file's own sandbox. */
export async function openRedis(
  config?: BulkActionConfig,
  scripts?: BulkScripts,
): Promise<StoreHarness<BulkShard>> {
  server ??= openRedisServer();
  return (await server).open(config, scripts);
}

/** Several stores as one on the file's own sandbox. */
export async function openRedisShards(shards: number, config?: BulkActionConfig): Promise<StoreHarness> {
  server ??= openRedisServer();
  return (await server).openShards(shards, config);
}

/** Ends what `openRedis` opened; after the file. The next file of this worker has the same module, and opens its own. */
export async function closeRedis(): Promise<void> {
  const closing = server;
  server = undefined;
  await (await closing)?.close();
}
