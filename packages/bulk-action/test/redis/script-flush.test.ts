import { wait } from '@millrace/async-utils';
import { RedisConnection } from '@millrace/redis';
import { recordingLogger, startRedis, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  BulkActionEngine,
  type BulkActionService,
  defineProcessor,
  hasEnded,
  type JobInput,
  resolveBulkActionConfig,
} from '../../src/index.js';
import { RedisStore } from '../../src/redis/store.js';
import { numbers } from '../store-contract/tools.js';

const GROUPS = numbers(12).map((n) => `t${n % 3}/g${n}`);
const CANCELLED = 't0/cancelled';
const JOBS = 50;
const CANCELLED_JOBS = 2000;
const JOB_MS = 10;
const FLUSH_EVERY_MS = 50;
const CONFIG = {
  backpressure: { globalRps: 0, dispatchIntervalMs: 20, defaultBackoffMs: 20, maxBackoffMs: 40 },
  workerPool: { workerCount: 8, fetchIntervalMs: 50, maxRetryCount: 1 },
};

type Does = 'succeeds' | 'fails-once' | 'fails';

const doesOf = (n: number): Does => {
  if (n % 10 === 0) return 'fails';
  return n % 7 === 0 ? 'fails-once' : 'succeeds';
};

const jobsOf = (count: number, does: (n: number) => Does = doesOf): JobInput[] =>
  numbers(count).map((n) => ({ id: `j${n}`, processorType: 'work', payload: does(n) }));

/** Counts the runs of every job; the broken ones are mended later. */
function workshop() {
  const runs = new Map<string, number>();
  const state = { mended: false };
  const processor = defineProcessor<Does>({
    type: 'work',
    async process({ groupId, id, payload, retryCount }) {
      const name = `${groupId} ${id}`;
      runs.set(name, (runs.get(name) ?? 0) + 1);
      await wait(JOB_MS);
      if (payload === 'fails' && !state.mended) throw new Error('the service is broken');
      if (payload === 'fails-once' && retryCount === 0) throw new Error('not this time');
    },
  });
  return { runs, state, processor };
}

/** Removes all scripts again and again until it is stopped. */
function flushing(admin: RedisConnection) {
  const state = { flushes: 0, stopped: false };
  const ended = (async () => {
    while (!state.stopped) {
      const nextAt = performance.now() + FLUSH_EVERY_MS;
      await admin.call('SCRIPT', ['FLUSH']);
      state.flushes += 1;
      await until(() => performance.now() >= nextAt, { what: 'the next flush' });
    }
  })();
  const stop = async () => {
    state.stopped = true;
    await ended;
    return state.flushes;
  };
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

/** Hands groups in by every way there is, with changes in between. */
async function submitAll(service: BulkActionService): Promise<void> {
  await service.updateTenant('t1', { weight: 2, concurrency: 6 });
  // None of them fails: it is a matter of time which would be dead letters before the group is cancelled.
  await service.submitBulk(
    { id: CANCELLED },
    jobsOf(CANCELLED_JOBS, () => 'succeeds'),
  );
  await Promise.all(
    GROUPS.map(async (id, n) => {
      const jobs = jobsOf(JOBS);
      if (n % 2 === 0) return service.submitBulk({ id }, jobs);
      await service.createGroup({ id });
      await service.pauseGroup(id);
      await service.addJobs(id, jobs.slice(0, 20));
      await service.updateGroup(id, { weight: 3, rps: 1000 });
      await service.resumeGroup(id);
      await service.addJobs(id, jobs);
      return service.seal(id, { total: JOBS });
    }),
  );
  await service.cancelGroup(CANCELLED);
}

/** Looks at everything, as a dashboard does. */
async function lookAround({ service, deadLetters }: BulkActionEngine): Promise<void> {
  const id = GROUPS[0] as string;
  await Promise.all([
    service.getQueues(),
    service.getFairness(),
    service.listGroups(),
    service.getTenant('t1'),
    deadLetters.list(),
    deadLetters.signatures(),
  ]);
  const known = await service.listGroups({ tenant: 't0' });
  if (!known.items.some((group) => group.id === id)) return;
  await Promise.all([service.getProgress(id), service.getResult(id), service.listJobs(id)]);
  await Promise.all([service.getJob(id, 'j1'), service.explain(id, 'j1')]);
}

/** Looks until every group has ended in this round. */
const allEnded = (engine: BulkActionEngine, round: number) =>
  until(
    async () => {
      await lookAround(engine);
      const groups = await Promise.all(GROUPS.map((id) => engine.service.getProgress(id)));
      return groups.every((group) => group.round === round && hasEnded(group.status));
    },
    { what: `round ${round} to end`, deadlineMs: 15_000, intervalMs: 10 },
  );

async function refusedScripts(admin: RedisConnection): Promise<number> {
  const stats = String(await admin.call('INFO', ['errorstats']));
  return Number(/^errorstat_NOSCRIPT:count=(\d+)/m.exec(stats)?.[1] ?? 0);
}

describe('bulk-action BA-15: SCRIPT FLUSH', () => {
  it('every 50 ms under load: no visible error, every job counted once', async () => {
    await using server = await startRedis();
    await using admin = new RedisConnection({ url: server.url });
    await using connection = new RedisConnection({ url: server.url });
    const { log, lines } = recordingLogger();
    const { runs, state, processor } = workshop();
    const store = new RedisStore(resolveBulkActionConfig(CONFIG), { connection });
    await using engine = new BulkActionEngine({ config: CONFIG, store, processors: [processor], log });
    await using flusher = flushing(admin);
    await engine.start();
    const events: string[] = [];
    engine.service.subscribe(({ type, groupId, round }) => {
      if (type === 'group.completed') events.push(`${groupId} ${round}`);
    });

    await submitAll(engine.service);
    await allEnded(engine, 1);
    const broken = jobsOf(JOBS).filter(({ payload }) => payload === 'fails').length;
    expect((await engine.deadLetters.signatures()).map(({ count }) => count)).toEqual([
      GROUPS.length * broken,
    ]);
    state.mended = true;
    expect(await engine.deadLetters.redrive({ all: true })).toBe(GROUPS.length * broken);
    await allEnded(engine, 2);
    const flushes = await flusher.stop();

    for (const id of GROUPS) {
      const [first, second] = await Promise.all(
        [1, 2].map((round) => engine.service.getResult(id, { round })),
      );
      expect(first).toMatchObject({ total: JOBS, success: JOBS - broken, failed: broken, cancelled: 0 });
      expect(second).toMatchObject({ total: JOBS, success: JOBS, failed: 0, cancelled: 0 });
      for (const { id: job, payload } of jobsOf(JOBS)) {
        const wanted = { succeeds: 1, 'fails-once': 2, fails: 3 }[payload as Does];
        expect(runs.get(`${id} ${job}`), `runs of ${id} ${job}`).toBe(wanted);
      }
    }
    const { success, failed, cancelled, registered } = await engine.service.getProgress(CANCELLED);
    expect(success + failed + cancelled).toBe(registered);
    await engine.stop();
    const troubles = lines.filter(({ level }) => level === 'warn' || level === 'error');
    // The tries that fail on purpose are told, and nothing else.
    expect(troubles.filter(({ fields }) => fields.code !== 'HANDLER_FAILED')).toEqual([]);
    expect(flushes, 'flushes').toBeGreaterThan(10);
    expect(await refusedScripts(admin), 'scripts that Redis no longer knew').toBeGreaterThan(flushes);
  });
});
