import { wait } from '@millrace/async-utils';
import { RedisConnection } from '@millrace/redis';
import { latch, type RedisServer, startRedis, until } from '@millrace/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  BulkActionEngine,
  defineProcessor,
  hasEnded,
  type JobProcessor,
  resolveBulkActionConfig,
} from '../../src/index.js';
import { RedisStore } from '../../src/redis/store.js';
import {
  deadly,
  fill,
  group,
  Instance,
  job,
  jobs,
  placeOf,
  retry,
  type StoreHarness,
  settle,
} from '../store-contract/tools.js';
import { dumpOf } from './stored-state.js';

const LEASE_MS = 700;
const CONFIG = {
  backpressure: { globalRps: 0, dispatchIntervalMs: 20, defaultBackoffMs: 20, maxBackoffMs: 50 },
  workerPool: { workerCount: 2, fetchIntervalMs: 50, workerTimeoutSec: 1, shutdownGracePeriodMs: 50 },
  reliableQueue: { ackTimeoutMs: LEASE_MS, orphanRecoveryIntervalMs: 100 },
};
const RESOLVED = resolveBulkActionConfig(CONFIG);

let server: RedisServer;
let admin: RedisConnection;

beforeAll(async () => {
  // Every acknowledged write is on the disk: what a restart loses would be our fault.
  server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  admin = new RedisConnection({ url: server.url, reconnectMaxMs: 50 });
});
afterEach(() => admin.call('FLUSHALL'));
afterAll(async () => {
  await admin.stop();
  await server.stop();
});

/** A process with a connection of its own; `vanish` ends it as SIGKILL would: nothing is given back or said. */
function newProcess() {
  const connection = new RedisConnection({ url: server.url, reconnectMaxMs: 50 });
  const store = new RedisStore(RESOLVED, { connection });
  const fixed = () => Promise.reject(new Error('the time is real here'));
  const harness: StoreHarness = {
    store,
    config: RESOLVED,
    now: async () => Date.now(),
    advance: fixed,
    jump: fixed,
    close: () => store.stop(),
  };
  const engineWith = (processor: JobProcessor<never, unknown>) =>
    new BulkActionEngine({ config: CONFIG, store, processors: [processor] });
  const vanish = () => connection.stop();
  return { harness, store, engineWith, vanish, [Symbol.asyncDispose]: vanish };
}

/** A job in each place, and a group that is still being registered. */
async function fillPlaces(harness: StoreHarness): Promise<void> {
  const { store } = harness;
  const instance = new Instance(harness, 'gone', 10);
  await fill(harness, group('t/dead'), 2);
  await store.groups.seal('t/dead');
  for (const lease of await instance.exactly(2)) await settle(harness, deadly(lease));
  await fill(harness, group('t/work'), 7);
  await store.groups.seal('t/work', 7);
  const [first] = await instance.exactly(3);
  await settle(harness, retry(first, { delayMs: 300 }));
  await instance.fetch(2);
  const soon = Date.now() + 500;
  await fill(harness, group('t/open'), [job('j0', { notBefore: soon }), job('j1')]);
  const places = await Promise.all(jobs(7).map(({ id }) => placeOf(harness, 't/work', id)));
  expect(places).toEqual(['NON_READY', 'IN_FLIGHT', 'IN_FLIGHT', 'READY', 'READY', 'LANE', 'LANE']);
}

/** Succeeds at everything, and knows what it was given. */
function recorder() {
  const payloads: unknown[] = [];
  const processor = defineProcessor({
    type: 'work',
    process: ({ groupId, payload }) => void payloads.push([groupId, payload]),
  });
  return { payloads, processor };
}

const ended = (engine: BulkActionEngine, ids: readonly string[], round = 1) =>
  until(
    async () => {
      const groups = await Promise.all(ids.map((id) => engine.service.getProgress(id)));
      return groups.every((group) => hasEnded(group.status) && group.round >= round);
    },
    { what: `${ids.join(', ')} to end`, deadlineMs: 10_000, intervalMs: 20 },
  );

const EMPTY = { lane: 0, ready: 0, nonReady: 0, inFlight: 0, deadLetters: 0, groups: 0 };

/** A new process takes over what `fillPlaces` left; everything goes on. */
async function expectAllGoesOn(): Promise<void> {
  await using successor = newProcess();
  const { payloads, processor } = recorder();
  await using engine = successor.engineWith(processor);
  await engine.start();
  const { service, deadLetters } = engine;
  await service.seal('t/open', { total: 2 });
  await ended(engine, ['t/work', 't/open']);
  expect(await service.getResult('t/work')).toMatchObject({ total: 7, success: 7, failed: 0 });
  expect(await service.getResult('t/open')).toMatchObject({ total: 2, success: 2, failed: 0 });
  const counts = await Promise.all(jobs(7).map(({ id }) => service.getJob('t/work', id)));
  expect(counts.map(({ retryCount }) => retryCount)).toEqual([1, 0, 0, 0, 0, 0, 0]);
  expect(counts.map(({ orphanCount }) => orphanCount)).toEqual([0, 1, 1, 0, 0, 0, 0]);
  expect(await deadLetters.redrive({ all: true })).toBe(2);
  await ended(engine, ['t/dead'], 2);
  expect(await service.getResult('t/dead', { round: 1 })).toMatchObject({ success: 0, failed: 2 });
  expect(await service.getResult('t/dead')).toMatchObject({ round: 2, success: 2, failed: 0 });
  expect(await service.getQueues()).toMatchObject(EMPTY);
  const wanted = [
    ...['j0', 'j1', 'j2', 'j3', 'j4', 'j5', 'j6'].map((id) => ['t/work', { id }]),
    ...['j0', 'j1'].flatMap((id) => [
      ['t/open', { id }],
      ['t/dead', { id }],
    ]),
  ];
  expect(payloads, 'each ran once, with its payload').toHaveLength(wanted.length);
  expect(payloads).toEqual(expect.arrayContaining(wanted));
}

describe('bulk-action BA-11: what waits survives', () => {
  it('bulk-action BA-11: the end of an engine: what it ran goes back, the next one goes on', async () => {
    await using first = newProcess();
    const twoRun = latch('every worker runs a job');
    let running = 0;
    const stuck = defineProcessor({
      type: 'work',
      async process(_job, { signal }) {
        running += 1;
        if (running === CONFIG.workerPool.workerCount) twoRun.open();
        await wait(60_000, { signal });
      },
    });
    const engine = first.engineWith(stuck);
    await engine.start();
    await engine.service.submitBulk(
      { id: 't/work' },
      jobs(20).map(({ id, processorType }) => ({ id, processorType, payload: { id } })),
    );
    await twoRun.wait();
    expect((await engine.service.getProgress('t/work')).inFlight).toBe(2);
    await engine.stop();

    await using second = newProcess();
    const { payloads, processor } = recorder();
    await using next = second.engineWith(processor);
    expect(await second.store.views.queues()).toMatchObject({ inFlight: 0 });
    await next.start();
    await ended(next, ['t/work']);
    expect(await next.service.getResult('t/work')).toMatchObject({ total: 20, success: 20 });
    expect(payloads).toHaveLength(20);
    const { items } = await next.service.listJobs('t/work');
    expect(items.every(({ retryCount, orphanCount }) => retryCount === 0 && orphanCount === 0)).toBe(true);
  });

  it('bulk-action BA-11: the death of a process: lane, ready, non-ready, in flight, dead letters', async () => {
    const gone = newProcess();
    await gone.store.start();
    await fillPlaces(gone.harness);
    await gone.vanish();
    await expectAllGoesOn();
  });

  it.each([
    ['restarted', () => server.restart()],
    ['killed', () => server.kill().then(() => server.restart())],
  ])('bulk-action BA-11: Redis %s with its AOF: every key as it was, and all goes on', async (_, fault) => {
    const gone = newProcess();
    await gone.store.start();
    await fillPlaces(gone.harness);
    await gone.vanish();
    const before = await dumpOf(admin, 'bulk-action:');
    await fault();
    await until(() => admin.call('PING'), { what: 'Redis to answer' });
    expect(Object.keys(before).length).toBeGreaterThan(20);
    expect(await dumpOf(admin, 'bulk-action:')).toEqual(before);
    await expectAllGoesOn();
  });

  it('bulk-action BA-11: Redis restarted under a running engine, which goes on by itself', async () => {
    await using alive = newProcess();
    const runs = new Map<string, number>();
    const slow = defineProcessor({
      type: 'work',
      async process({ id }) {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        await wait(10);
      },
    });
    await using engine = alive.engineWith(slow);
    await engine.start();
    await engine.service.submitBulk(
      { id: 't/work' },
      jobs(150).map(({ id }) => ({ id, processorType: 'work' })),
    );
    await until(() => runs.size > 20, { what: 'some to run' });
    await server.restart();
    await ended(engine, ['t/work']);
    expect(await engine.service.getResult('t/work')).toMatchObject({ total: 150, success: 150, failed: 0 });
    expect(runs.size).toBe(150);
    expect(await engine.service.getQueues()).toMatchObject(EMPTY);
  });
});
