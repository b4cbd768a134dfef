import { sleep } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { ReserveRequest, Settlement } from '../../src/lease.js';
import type { BulkStore } from '../../src/ports.js';
import type { Job } from '../../src/processor.js';
import { aroundCall, bench, forEver, jobOf, jobsOf, losingAnswers } from './bench.js';

/** Writes down every reserve and settle as it is sent, and lets `settle` be held up. */
function recorded(
  events: string[],
  settle: (call: () => Promise<unknown>) => Promise<unknown> = (call) => call(),
) {
  return (store: BulkStore) =>
    aroundCall(
      aroundCall(store, 'leases', 'reserve', (call, [request]) => {
        events.push(`reserve ${(request as ReserveRequest).max}`);
        return call();
      }),
      'leases',
      'settle',
      (call, [settlements]) => {
        events.push(`settle ${(settlements as readonly Settlement[]).map(({ jobId }) => jobId)}`);
        return settle(call);
      },
    );
}

const start = async ({ pool, clock }: Pick<ReturnType<typeof bench>, 'pool' | 'clock'>) => {
  await pool.start();
  await clock.advance(0);
};

describe('working while the store works', () => {
  it('bulk-action BA-5: a worker asks for its next job behind its result, not after the answer to it', async () => {
    const events: string[] = [];
    const mayAnswer = latch('the first settle may answer');
    const world = bench({
      config: { workerPool: { workerCount: 1 } },
      processors: [{ type: 'T', process: ({ id }: Job) => void events.push(`run ${id}`) }],
      around: recorded(events, async (call) => {
        const answer = await call();
        await mayAnswer.promise;
        return answer;
      }),
    });
    const { pool, submit, counts } = world;
    await submit('g', jobsOf(3), { concurrency: 1 });
    await start(world);
    const from = events.indexOf('run j1');
    // The result is there first, so the slot of a cap is free when the store looks.
    expect(events.slice(from, from + 4)).toEqual(['run j1', 'settle j1', 'reserve 1', 'run j2']);
    mayAnswer.open();
    await world.clock.advance(0);
    expect(await counts('g')).toMatchObject({ success: 3 });
    await pool.stop();
  });

  it('bulk-action BA-15: while results cannot be stored, a worker holds two of them and takes no more jobs', async () => {
    const events: string[] = [];
    const mayAnswer = latch('settle may answer');
    const world = bench({
      config: { workerPool: { workerCount: 3 }, reliableQueue: { ackTimeoutMs: 3000 } },
      processors: [{ type: 'T', process: ({ id }: Job) => void events.push(`run ${id}`) }],
      around: recorded(events, async (call) => {
        await mayAnswer.promise;
        return call();
      }),
    });
    const { pool, clock, submit, counts, linesOf } = world;
    await submit('g', jobsOf(20));
    await start(world);
    await clock.advance(60_000);
    expect(events.filter((event) => event.startsWith('run'))).toHaveLength(6);
    // They are this process's all the time: renewed, not lost, and shown.
    expect(await counts('g')).toMatchObject({ success: 0, inFlight: 6 });
    expect(linesOf('warn')).toEqual([]);
    expect(pool.getPoolStatus()).toMatchObject({ activeWorkers: 3, idleWorkers: 0 });
    mayAnswer.open();
    await clock.advance(0);
    expect(await counts('g')).toMatchObject({ success: 20, inFlight: 0 });
    expect(pool.counters).toMatchObject({ success: 20, lateAcks: 0, orphansRecovered: 0 });
    expect(pool.getPoolStatus()).toMatchObject({ idleWorkers: 3 });
    await pool.stop();
  });

  it('bulk-action BA-15: many results do not wait for the call before theirs, but for a third one they do', async () => {
    const sizes: number[] = [];
    const mayEnd = latch('the jobs may end');
    const mayAnswer = latch('settle may answer');
    const world = bench({
      config: { workerPool: { workerCount: 60, fetchBatchSize: 200 } },
      processors: [{ type: 'T', process: ({ id }: Job) => (id === 'j1' ? undefined : mayEnd.promise) }],
      around: (store) =>
        aroundCall(store, 'leases', 'settle', async (call, [settlements]) => {
          sizes.push((settlements as readonly Settlement[]).length);
          await mayAnswer.promise;
          return call();
        }),
    });
    const { pool, clock, submit, counts } = world;
    await submit('g', jobsOf(90));
    await start(world);
    mayEnd.open();
    await clock.advance(0);
    // The first alone, the 60 that ended together; what the workers run after that is gathered.
    expect(sizes).toEqual([1, 60]);
    mayAnswer.open();
    await clock.advance(0);
    expect(sizes).toEqual([1, 60, 29]);
    expect(await counts('g')).toMatchObject({ success: 90, inFlight: 0 });
    await pool.stop();
  });

  it('bulk-action BA-5: a large crew is asked for by halves, the second half before the first one runs', async () => {
    const events: string[] = [];
    const world = bench({
      config: { workerPool: { workerCount: 40, fetchBatchSize: 200 } },
      processors: [{ type: 'T', process: () => void events.push('run') }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', (call, [request]) => {
          // A connection writes what it was given when the turn of the event loop ends.
          process.nextTick(() => events.push(`reserve ${(request as ReserveRequest).max}`));
          return call();
        }),
    });
    const { pool, submit, counts } = world;
    await submit('g', jobsOf(200));
    await start(world);
    const first = events.indexOf('run');
    expect(events.slice(first - 2, first)).toEqual(['reserve 20', 'reserve 20']);
    expect(new Set(events)).toEqual(new Set(['reserve 20', 'run']));
    expect(await counts('g')).toMatchObject({ success: 200 });
    await pool.stop();
  });

  it('bulk-action BA-15: when the workers go while the next reserve is being sent, what both bring is given back', async () => {
    let calls = 0;
    const world = bench({
      config: { workerPool: { workerCount: 40, fetchBatchSize: 200 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', (call) => {
          calls += 1;
          const answer = call();
          if (calls === 3) world.pool.scaleWorkers(0);
          return answer;
        }),
    });
    const { pool, submit, counts } = world;
    await start(world);
    // Nothing was there: that was the first.
    expect(calls).toBe(1);
    await submit('g', jobsOf(200));
    await world.clock.advance(0);
    expect(calls).toBe(3);
    expect(await counts('g')).toMatchObject({ success: 0, pending: 200, inFlight: 0 });
    await pool.stop();
  });

  it('bulk-action BA-15: no second reserve goes out before the first is answered, and a lost answer is asked for again', async () => {
    const seqs: number[] = [];
    let open = 0;
    let most = 0;
    const lose = losingAnswers(2);
    const world = bench({
      config: { workerPool: { workerCount: 40, fetchBatchSize: 200 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store, clock) =>
        aroundCall(store, 'leases', 'reserve', async (call, [request]) => {
          seqs.push((request as ReserveRequest).seq);
          open += 1;
          most = Math.max(most, open);
          try {
            await sleep(clock, 5);
            return await lose(call);
          } finally {
            open -= 1;
          }
        }),
    });
    const { pool, clock, submit, counts } = world;
    await submit('g', jobsOf(100));
    await start(world);
    await clock.advance(10_000);
    expect(most).toBe(1);
    expect(seqs.slice(0, 4)).toEqual([1, 1, 1, 2]);
    expect(await counts('g')).toMatchObject({ success: 100, inFlight: 0 });
    expect(pool.counters.orphansRecovered).toBe(0);
    await pool.stop();
  });

  it('bulk-action BA-10: a stop gives back what the reserve under way brings, and waits for the results under way', async () => {
    const answers = [latch('reserve 1'), latch('reserve 2')];
    const settling = latch('settle may answer');
    let calls = 0;
    const world = bench({
      config: { workerPool: { workerCount: 40, fetchBatchSize: 200 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) =>
        aroundCall(
          aroundCall(store, 'leases', 'reserve', async (call) => {
            const answer = await call();
            await answers[calls++]?.promise;
            return answer;
          }),
          'leases',
          'settle',
          async (call) => {
            await settling.promise;
            return call();
          },
        ),
    });
    const { pool, clock, submit, counts } = world;
    await submit('g', jobsOf(100));
    await clock.advance(0);
    await start(world);
    answers[0]?.open();
    await clock.advance(0);
    const ran = (await counts('g'))?.inFlight ?? 0;
    let stopped = false;
    const stopping = pool.stop().then(() => {
      stopped = true;
    });
    await clock.advance(0);
    answers[1]?.open();
    await clock.advance(0);
    expect(stopped).toBe(false);
    settling.open();
    await clock.advance(0);
    await stopping;
    const after = await counts('g');
    expect(after).toMatchObject({ inFlight: 0 });
    expect(after?.success).toBeGreaterThan(0);
    expect(after?.success).toBeLessThan(ran);
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: a worker that waits for a job names the result that could not be stored when the grace period ends', async () => {
    const world = bench({
      config: { workerPool: { workerCount: 1, shutdownGracePeriodMs: 1000 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) => aroundCall(store, 'leases', 'settle', forEver),
    });
    const { pool, clock, submit, linesOf, job } = world;
    await submit('g', [jobOf('j1')]);
    await start(world);
    expect(pool.getPoolStatus()).toMatchObject({ idleWorkers: 0, workers: [{ currentJob: 'j1' }] });
    const stopping = pool.stop();
    await clock.advance(6000);
    await stopping;
    expect(linesOf('warn')[0]?.message).toContain('worker-1 (j1)');
    expect(await job('g', 'j1')).toMatchObject({ retryCount: 0 });
    expect(pool.getPoolStatus().workers).toMatchObject([{ state: 'STOPPED' }]);
  });
});
