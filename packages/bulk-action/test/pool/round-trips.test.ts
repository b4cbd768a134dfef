import { sleep } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import type { ReserveRequest, Settlement } from '../../src/lease.js';
import { aroundCall, bench, forEver, jobOf, jobsOf, losingAnswers, unavailable } from './bench.js';

describe('taking jobs', () => {
  it('bulk-action BA-5: two idle workers share one reserve call, and both start', async () => {
    const requests: ReserveRequest[] = [];
    const mayEnd = latch('the jobs may end');
    const { pool, clock, submit } = bench({
      config: { workerPool: { workerCount: 2 } },
      processors: [{ type: 'T', process: () => mayEnd.promise }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', (call, [request]) => {
          requests.push(request as ReserveRequest);
          return call();
        }),
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(0);
    const first = requests.filter(({ max }) => max > 0);
    expect(first.every(({ max }) => max === 2)).toBe(true);
    expect(pool.getPoolStatus().workers.map(({ currentJob }) => currentJob)).toEqual(['j1', 'j2']);
    mayEnd.open();
    await clock.advance(0);
    // Both ended in the same turn: they ask together again.
    expect(requests.at(-1)).toMatchObject({ max: 2 });
    expect(requests.map(({ seq }) => seq)).toEqual(requests.map((_, index) => index + 1));
    await pool.stop();
  });

  it('bulk-action BA-5: a worker that becomes idle while a reserve is under way is served by the next at once', async () => {
    const gates = new Map(['j1', 'j2'].map((id) => [id, latch(`${id} may end`)]));
    const slow = latch('the slow reserve may answer');
    let calls = 0;
    const { pool, clock, submit, memory } = bench({
      config: { workerPool: { workerCount: 2 } },
      processors: [{ type: 'T', process: ({ id }) => gates.get(id)?.promise }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', async (call, [request]) => {
          const answer = await call();
          if ((request as ReserveRequest).max === 1 && calls++ === 0) await slow.promise;
          return answer;
        }),
    });
    await submit('g', [jobOf('j1'), jobOf('j2')]);
    await pool.start();
    await clock.advance(0);
    gates.get('j1')?.open();
    await clock.advance(0);
    // The first worker's request is under way and finds nothing; now the second worker is idle and work comes.
    gates.get('j2')?.open();
    await submit('h', [jobOf('k1'), jobOf('k2')]);
    await clock.advance(0);
    expect(pool.counters.success).toBe(2);
    slow.open();
    await clock.advance(0);
    expect(pool.counters.success).toBe(4);
    expect((await memory.views.queues()).inFlight).toBe(0);
    await pool.stop();
  });

  it('bulk-action BA-5: a lone job starts without waiting for any interval', async () => {
    const startedAt: number[] = [];
    const { pool, clock, submit } = bench({
      processors: [{ type: 'T', process: () => void startedAt.push(clock.monotonicMs()) }],
    });
    await pool.start();
    await clock.advance(7777);
    await submit('g', [jobOf('j1')]);
    await clock.advance(0);
    expect(startedAt).toEqual([7777]);
    await pool.stop();
  });

  it('bulk-action BA-5: a lost wake-up costs at most workerTimeoutSec', async () => {
    let startedAt = -1;
    const { pool, clock, submit } = bench({
      config: { workerPool: { workerTimeoutSec: 2 } },
      processors: [
        {
          type: 'T',
          process: () => {
            startedAt = clock.monotonicMs();
          },
        },
      ],
      around: (store) =>
        Object.assign(Object.create(store), {
          wakeUps: { ...store.wakeUps, listen: () => () => {} },
        }),
    });
    await pool.start();
    await clock.advance(500);
    await submit('g', [jobOf('j1')]);
    await clock.advance(1499);
    expect(startedAt).toBe(-1);
    await clock.advance(1);
    expect(startedAt).toBe(2000);
    await pool.stop();
  });

  it('bulk-action BA-5: a wake-up that comes when the waiting workers have gone is handed on', async () => {
    const passedOn: string[] = [];
    const { pool, clock, submit } = bench({
      config: { workerPool: { workerCount: 3 } },
      around: (store) =>
        Object.assign(Object.create(store), {
          wakeUps: { ...store.wakeUps, passOn: (kind: string) => void passedOn.push(kind) },
        }),
    });
    await startNow(pool, clock);
    pool.scaleWorkers(0);
    await clock.advance(100);
    expect(passedOn).toEqual([]);
    await submit('g', [jobOf('j1')]);
    await clock.advance(0);
    expect(passedOn).toEqual(['work']);
    await pool.stop();
  });

  it('bulk-action BA-15: a reserve whose answer is lost is repeated with the same number: the job runs once and counts once', async () => {
    const requests: ReserveRequest[] = [];
    const lose = losingAnswers(1);
    const process = vi.fn();
    const { pool, clock, submit, counts, linesOf } = bench({
      config: { workerPool: { workerCount: 2 } },
      processors: [{ type: 'T', process }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', (call, [request]) => {
          requests.push(request as ReserveRequest);
          return lose(call);
        }),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    expect(process).not.toHaveBeenCalled();
    await clock.advance(1000);
    expect(process).toHaveBeenCalledTimes(1);
    expect(requests[1]).toEqual(requests[0]);
    expect(requests[2]?.seq).toBe((requests[0]?.seq ?? 0) + 1);
    expect(await counts('g')).toMatchObject({ success: 1, registered: 1, inFlight: 0 });
    expect(linesOf('error')).toMatchObject([{ fields: { code: 'BACKEND_UNAVAILABLE' } }]);
    await clock.advance(120_000);
    expect(process).toHaveBeenCalledTimes(1);
    expect(pool.counters).toMatchObject({ success: 1, orphansRecovered: 0, lateAcks: 0 });
    await pool.stop();
  });

  it('bulk-action BA-15: jobs reserved for workers that have gone are given back', async () => {
    const answer = latch('the reserve may answer');
    const { pool, clock, submit, job, linesOf } = bench({
      config: { workerPool: { workerCount: 2 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', async (call) => {
          const given = await call();
          await answer.promise;
          return given;
        }),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    expect(await job('g', 'j1')).toMatchObject({ place: 'IN_FLIGHT' });
    const stopping = pool.stop();
    await clock.advance(0);
    answer.open();
    await stopping;
    expect(await job('g', 'j1')).toMatchObject({ status: 'PENDING', retryCount: 0 });
    expect(linesOf('info').some(({ message }) => message.startsWith('Jobs given back'))).toBe(true);
    expect(linesOf('error')).toEqual([]);
  });

  it('bulk-action BA-5: a ready entry whose record is gone is logged at WARN', async () => {
    let told = false;
    const { pool, clock, linesOf } = bench({
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', async (call) => {
          const answer = (await call()) as object;
          if (told) return answer;
          told = true;
          return { ...answer, missing: [{ key: '/g', jobId: 'ghost' }] };
        }),
    });
    await startNow(pool, clock);
    expect(linesOf('warn')).toMatchObject([{ fields: { groupId: 'g', jobId: 'ghost' } }]);
    await pool.stop();
  });

  it('bulk-action BA-15: a reserve whose answer is lost while the pool stops is asked for once more, and given back', async () => {
    const answer = latch('the reserve may answer');
    const lose = losingAnswers(1);
    const { pool, clock, submit, job } = bench({
      processors: [{ type: 'T', process: () => {} }],
      around: (store) =>
        aroundCall(store, 'leases', 'reserve', async (call) => {
          const given = await call();
          await answer.promise;
          return lose(async () => given);
        }),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    const stopping = pool.stop();
    await clock.advance(0);
    answer.open();
    await stopping;
    expect(await job('g', 'j1')).toMatchObject({ status: 'PENDING', attempts: 1, retryCount: 0 });
    expect((await job('g', 'j1'))?.place).not.toBe('IN_FLIGHT');
  });

  it('bulk-action BA-15: a stop in doubt asks once more and gives back what the lost answer had reserved', async () => {
    const lose = losingAnswers(1);
    const { pool, clock, submit, job } = bench({
      processors: [{ type: 'T', process: () => {} }],
      around: (store) => aroundCall(store, 'leases', 'reserve', lose),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    await pool.stop();
    expect(await job('g', 'j1')).toMatchObject({ status: 'PENDING', attempts: 1, retryCount: 0 });
    expect((await job('g', 'j1'))?.place).not.toBe('IN_FLIGHT');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('reporting jobs', () => {
  it('bulk-action BA-15: a settle whose answer is lost is repeated: the job runs once and counts once', async () => {
    const sent: (readonly Settlement[])[] = [];
    const lose = losingAnswers(1);
    const process = vi.fn();
    const { pool, clock, submit, counts, linesOf } = bench({
      processors: [{ type: 'T', process }],
      around: (store) =>
        aroundCall(store, 'leases', 'settle', (call, [settlements]) => {
          sent.push(settlements as readonly Settlement[]);
          return lose(call);
        }),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    await clock.advance(1000);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
    expect(await counts('g')).toMatchObject({ success: 1, registered: 1 });
    expect(pool.counters).toMatchObject({ success: 1, lateAcks: 0 });
    expect(process).toHaveBeenCalledTimes(1);
    expect(linesOf('error')).toHaveLength(1);
    await pool.stop();
  });

  it('bulk-action BA-15: a settle that fails for 10 s is repeated every second, and the lease is kept meanwhile', async () => {
    let calls = 0;
    const process = vi.fn();
    const { pool, clock, submit, counts, linesOf } = bench({
      config: { reliableQueue: { ackTimeoutMs: 3000 } },
      processors: [{ type: 'T', process }],
      around: (store, clock) =>
        aroundCall(store, 'leases', 'settle', (call) => {
          calls += 1;
          return clock.monotonicMs() < 10_000 ? Promise.reject(unavailable()) : call();
        }),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    await clock.advance(9999);
    expect(await counts('g')).toMatchObject({ success: 0, inFlight: 1 });
    await clock.advance(1);
    expect(calls).toBe(11);
    expect(await counts('g')).toMatchObject({ success: 1, inFlight: 0 });
    await clock.advance(60_000);
    expect(process).toHaveBeenCalledTimes(1);
    expect(pool.counters).toMatchObject({ success: 1, orphansRecovered: 0 });
    expect(linesOf('error')).toHaveLength(10);
    await pool.stop();
  });

  it('bulk-action BA-15: what finishes together, and while a call is under way, is settled in one call', async () => {
    const sizes: number[] = [];
    const slow = latch('the first settle may answer');
    const { pool, clock, submit } = bench({
      config: { workerPool: { workerCount: 6 } },
      processors: [{ type: 'T', process: ({ id }) => sleep(clock, id === 'j1' ? 10 : 20) }],
      around: (store) =>
        aroundCall(store, 'leases', 'settle', async (call, [settlements]) => {
          sizes.push((settlements as unknown[]).length);
          if (sizes.length === 1) await slow.promise;
          return call();
        }),
    });
    await submit('g', jobsOf(6));
    await startNow(pool, clock);
    await clock.advance(20);
    expect(sizes).toEqual([1]);
    slow.open();
    await clock.advance(0);
    expect(sizes).toEqual([1, 5]);
    expect(pool.counters.success).toBe(6);
    await pool.stop();
  });

  it('bulk-action BA-15: a late result counts nothing and is logged as stale; one for no job as gone', async () => {
    const statuses = ['stale', 'gone'];
    const { pool, clock, submit, linesOf } = bench({
      config: { workerPool: { workerCount: 1 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) =>
        aroundCall(store, 'leases', 'settle', async (call) => {
          const status = statuses.shift();
          return status ? [{ status }] : call();
        }),
    });
    await submit('g', jobsOf(2));
    await startNow(pool, clock);
    expect(linesOf('warn').map(({ message }) => message)).toEqual([
      expect.stringContaining('another lease holds or settled the job'),
      expect.stringContaining('there is no such job'),
    ]);
    expect(pool.counters).toMatchObject({ success: 0, lateAcks: 1 });
    await pool.stop();
  });

  it('bulk-action BA-15: at the end of a shutdown a settle that hangs is given up, and the pool stops', async () => {
    const { pool, clock, submit, linesOf, settled } = bench({
      config: { workerPool: { shutdownGracePeriodMs: 1000 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) => aroundCall(store, 'leases', 'settle', forEver),
    });
    await submit('g', [jobOf('j1')]);
    await startNow(pool, clock);
    let stopped = false;
    const stopping = pool.stop().then(() => {
      stopped = true;
    });
    await clock.advance(1299);
    expect(stopped).toBe(false);
    await clock.advance(1);
    await stopping;
    expect(settled).toMatchObject([{ answer: undefined }]);
    expect(linesOf('error')).toMatchObject([{ fields: { jobs: ['j1'] } }]);
    expect(clock.pendingTimers).toBe(0);
  });
});

/** Starts the pool and lets everything happen that can happen at once. */
async function startNow(
  pool: { start(): Promise<void> },
  clock: { advance(ms: number): Promise<void> },
): Promise<void> {
  await pool.start();
  await clock.advance(0);
}
