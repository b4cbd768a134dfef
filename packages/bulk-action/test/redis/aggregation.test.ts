import { seededRng } from '@millrace/foundation';
import { RedisConnection } from '@millrace/redis';
import { redisSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkActionEngine, resolveBulkActionConfig } from '../../src/index.js';
import { RESULTS_PAGE } from '../../src/pool/run-aggregation.js';
import type { BulkStore } from '../../src/ports.js';
import { RedisStore } from '../../src/redis/store.js';
import { echo, numbered, summing } from '../aggregation/bench.js';

const CONFIG = {
  backpressure: { globalRps: 0 },
  workerPool: { workerCount: 50 },
  reliableQueue: { ackTimeoutMs: 60_000 },
};
const COUNT = 4000;

let sandbox: Awaited<ReturnType<typeof redisSandbox>>;
let connections: RedisConnection[];
let prefixes = 0;

beforeAll(async () => {
  sandbox = await redisSandbox();
  connections = [0, 1].map(() => new RedisConnection({ url: sandbox.url }));
});
afterAll(async () => {
  for (const connection of connections) await connection.stop();
  await sandbox[Symbol.asyncDispose]();
});

/** Two processes on one engine. */
function twoStores(): [RedisStore, RedisStore] {
  const keyPrefix = `${sandbox.namespace}sum${++prefixes}:`;
  const open = (connection: RedisConnection) =>
    new RedisStore(resolveBulkActionConfig(CONFIG), { connection, keyPrefix });
  return connections.map(open) as [RedisStore, RedisStore];
}

const engineOn = (store: BulkStore, name: string) =>
  new BulkActionEngine({
    config: CONFIG,
    store,
    rng: seededRng(name),
    processors: [echo()],
    aggregators: [summing('SUM', { numbers: (n) => ({ n: n as number }) })],
  });

const hasEnded = (engine: BulkActionEngine, round = 1) =>
  until(async () => ((await engine.service.getResult('g'))?.round ?? 0) >= round, {
    what: `round ${round} to end`,
    deadlineMs: 30_000,
  });

describe('bulk-action BA-13: aggregation on Redis', () => {
  it(`bulk-action BA-13: ${COUNT} results of two processes are added up once, page by page`, async () => {
    const stores = twoStores();
    const sizes: number[] = [];
    let finished = 0;
    for (const { aggregations } of stores) {
      const { page, finish } = aggregations;
      Object.assign(aggregations, {
        page: async (...args: Parameters<typeof page>) => {
          const answer = await page(...args);
          sizes.push(answer.items.length);
          return answer;
        },
        finish: async (...args: Parameters<typeof finish>) => {
          const answer = await finish(...args);
          if (answer === 'done') finished += 1;
          return answer;
        },
      });
    }
    const [one, two] = [engineOn(stores[0], 'one'), engineOn(stores[1], 'two')];
    await one.start();
    await two.start();
    await one.service.submitBulk({ id: 'g' }, numbered(COUNT));
    await hasEnded(one);
    const sum = (COUNT * (COUNT - 1)) / 2;
    expect(await two.service.getResult('g')).toMatchObject({
      status: 'COMPLETED',
      success: COUNT,
      data: { sum, count: COUNT, of: COUNT },
      numbers: { n: { count: COUNT, sum, min: 0, max: COUNT - 1 } },
    });
    expect(finished).toBe(1);
    expect(sizes).toEqual(Array.from({ length: COUNT / RESULTS_PAGE }, () => RESULTS_PAGE));
    await one.stop();
    await two.stop();
  }, 60_000);

  it('bulk-action BA-13: many finalisers at once, one of them ends the round', async () => {
    const stores = twoStores();
    const [one, two] = [engineOn(stores[0], 'three'), engineOn(stores[1], 'four')];
    for (const store of stores) await store.start();
    await one.service.submitBulk({ id: 'g' }, numbered(10));
    const { jobs } = await stores[0].leases.reserve({ instanceId: 'w', seq: 1, max: 10, turns: 10 });
    await stores[0].leases.settle(
      jobs.map(({ key, jobId, token, payload }) => ({
        key,
        jobId,
        token,
        durationMs: 1,
        outcome: { kind: 'success', data: payload, aggregate: true },
      })),
    );
    const all = Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).aggregator.finalizeGroup('g'));
    const answers = await Promise.all(all);
    expect(answers.filter((answer) => answer === 'done')).toHaveLength(1);
    expect(new Set(answers.filter((answer) => answer !== 'done'))).toEqual(new Set(['nothing']));
    expect(await two.service.getResult('g')).toMatchObject({ data: { sum: 45, count: 10 } });
    for (const store of stores) await store.stop();
  });
});
