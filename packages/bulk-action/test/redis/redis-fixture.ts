import { loadScripts, RedisConnection } from '@millrace/redis';
import { redisSandbox } from '@millrace/testkit';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import { BULK_SCRIPTS } from '../../src/redis/scripts.js';
import { RedisStore } from '../../src/redis/store.js';
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

const SCRIPTS = loadScripts(BULK_SCRIPTS, { includes: { now: TEST_NOW } });
const START_MS = Date.UTC(2026, 0, 1);

let opened = 0;

/** One connection and sandbox for a test file; the stores of its tests have prefixes of their own. */
async function openRedisServer() {
  const sandbox = await redisSandbox();
  const connection = new RedisConnection({ url: sandbox.url });
  return {
    connection,
    url: sandbox.url,
    /** A store of its own, whose time the test moves. */
    async open(given: BulkActionConfig = {}): Promise<StoreHarness> {
      const keyPrefix = `${sandbox.namespace}${++opened}:`;
      const clockKey = `${keyPrefix}{0}:clock`;
      const config = resolveBulkActionConfig(given);
      let nowMs = START_MS;
      const set = (ms: number) => {
        nowMs = ms;
        return connection.call('SET', [clockKey, Math.round(ms * 1000)]).then(() => {});
      };
      await set(nowMs);
      const store = new RedisStore(config, { connection, keyPrefix }, SCRIPTS);
      await store.start();
      return {
        store,
        config,
        now: async () => nowMs,
        advance: (ms) => set(nowMs + ms),
        jump: (ms) => set(nowMs + ms),
        close: () => store.stop(),
      };
    },
    async close(): Promise<void> {
      await connection.stop();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

let server: Promise<Awaited<ReturnType<typeof openRedisServer>>> | undefined;

/** A store on the file's own sandbox. */
export async function openRedis(config?: BulkActionConfig): Promise<StoreHarness> {
  server ??= openRedisServer();
  return (await server).open(config);
}

/** Ends what `openRedis` opened; after the file. */
export async function closeRedis(): Promise<void> {
  await (await server)?.close();
}
