import { sleep } from '@millrace/foundation';
import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import type { LeaseRef } from '../../src/lease.js';
import type { Job, JobContext } from '../../src/processor.js';
import { aroundCall, bench, forEver, jobOf, jobsOf, losingAnswers, unavailable } from './bench.js';

const ACK_MS = 3000;
const shortLeases = { reliableQueue: { ackTimeoutMs: ACK_MS }, workerPool: { jobTimeoutMs: 600_000 } };

/** A clock, and a processor that works for `ms` of it, or until its signal aborts, and notes why. */
function working(ms: number) {
  const clock = new ManualClock();
  const reasons: unknown[] = [];
  const started = vi.fn();
  const process = async ({ id }: Job, { signal }: JobContext) => {
    started(id);
    if (!(await sleep(clock, ms, signal))) reasons.push(signal.reason);
  };
  return { clock, reasons, started, processors: [{ type: 'T', process }] };
}

describe('leases', () => {
  it('bulk-action BA-15: renewal every ackTimeoutMs/3 keeps a job that runs ten leases long, all in one call', async () => {
    const { processors, clock, started } = working(10 * ACK_MS);
    const renewals: [number, number][] = [];
    const { pool, submit, counts } = bench({
      config: shortLeases,
      processors,
      clock,
      around: (store, clock) =>
        aroundCall(store, 'leases', 'renew', (call, [leases]) => {
          renewals.push([clock.monotonicMs(), (leases as LeaseRef[]).length]);
          return call();
        }),
    });
    await submit('g', jobsOf(3));
    await pool.start();
    await clock.advance(10 * ACK_MS);
    expect(await counts('g')).toMatchObject({ success: 3 });
    expect(started).toHaveBeenCalledTimes(3);
    expect(renewals.slice(0, 3)).toEqual([
      [1000, 3],
      [2000, 3],
      [3000, 3],
    ]);
    expect(pool.counters).toMatchObject({ orphansRecovered: 0, lateAcks: 0, success: 3 });
    await pool.stop();
  });

  it('bulk-action BA-15: a lost lease aborts the signal; the late result counts nothing', async () => {
    const { processors, clock, reasons } = working(60_000);
    const { pool, submit, memory, linesOf, job } = bench({
      config: shortLeases,
      processors,
      clock,
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(0);
    // Somebody takes the lease away: what recovery does to a process that is believed dead.
    await memory.leases.giveBackAll('one', 10);
    await memory.groups.pause('/g');
    await clock.advance(1000);
    expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }]);
    expect(pool.counters).toMatchObject({ success: 0, lateAcks: 1 });
    expect(linesOf('warn').map(({ message }) => message)).toEqual([
      expect.stringContaining('is lost; its signal aborts'),
      expect.stringContaining('came too late'),
    ]);
    expect(await job('g', 'j1')).toMatchObject({ status: 'PENDING', retryCount: 0 });
    await pool.stop();
  });

  it('bulk-action BA-15: cancelGroup aborts running tries; their settlement only frees lease and slot', async () => {
    const { processors, clock, reasons } = working(60_000);
    const { pool, submit, memory, counts } = bench({ config: shortLeases, processors, clock });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(0);
    await memory.groups.cancel('/g');
    // Told by the event, long before the next renewal.
    await clock.advance(1);
    expect(reasons).toMatchObject([
      { code: 'CANCELLED', message: 'The group g was cancelled' },
      { code: 'CANCELLED' },
    ]);
    expect(await counts('g')).toMatchObject({ cancelled: 2, success: 0, inFlight: 0 });
    expect(pool.counters).toMatchObject({ success: 0, lateAcks: 0, failed: 0 });
    expect((await memory.views.queues()).inFlight).toBe(0);
    await pool.stop();
  });

  it.each([
    ['throws', () => Promise.reject(unavailable())],
    ['hangs', forEver],
  ])(
    'bulk-action BA-15: a lease that could not be renewed for ackTimeoutMs because the store %s is taken for lost',
    async (_, fail) => {
      const { processors, clock, reasons } = working(60_000);
      const { pool, submit } = bench({
        config: shortLeases,
        processors,
        clock,
        around: (store) => aroundCall(store, 'leases', 'renew', fail),
      });
      await submit('g', [jobOf('j1')]);
      await pool.start();
      await clock.advance(ACK_MS - 1);
      expect(reasons).toEqual([]);
      await clock.advance(1);
      expect(reasons).toMatchObject([{ code: 'LEASE_LOST' }]);
      await pool.stop();
    },
  );

  it('bulk-action BA-15: a renewal that fails twice is tried again in time', async () => {
    const { processors, clock, reasons } = working(3 * ACK_MS);
    let calls = 0;
    const { pool, submit, counts, linesOf } = bench({
      config: shortLeases,
      processors,
      clock,
      around: (store) =>
        aroundCall(store, 'leases', 'renew', (call) =>
          calls++ < 2 ? Promise.reject(unavailable()) : call(),
        ),
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(3 * ACK_MS);
    expect(reasons).toEqual([]);
    expect(await counts('g')).toMatchObject({ success: 1 });
    expect(linesOf('error')).toHaveLength(2);
    await pool.stop();
  });

  it('bulk-action BA-15: heartbeat() renews now and says when the lease is lost', async () => {
    const answers: boolean[] = [];
    const steps = [latch('first'), latch('second')];
    const { pool, clock, submit, memory } = bench({
      config: shortLeases,
      processors: [
        {
          type: 'T',
          process: async (_: Job, { heartbeat, signal }: JobContext) => {
            for (const step of steps) {
              await step.promise;
              answers.push(await heartbeat());
            }
            answers.push(signal.aborted);
          },
        },
      ],
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(0);
    steps[0]?.open();
    await clock.advance(0);
    await memory.leases.giveBackAll('one', 10);
    await memory.groups.pause('/g');
    steps[1]?.open();
    await clock.advance(0);
    expect(answers).toEqual([true, false, true]);
    await pool.stop();
  });

  it('bulk-action BA-15: a heartbeat that the store does not answer is no loss, and one after the end is', async () => {
    const answers: boolean[] = [];
    const { pool, clock, submit } = bench({
      config: { workerPool: { jobTimeoutMs: 500, abortGraceMs: 0, maxRetryCount: 0 } },
      processors: [
        {
          type: 'T',
          process: async (_: Job, { heartbeat }: JobContext) => {
            answers.push(await heartbeat());
            await sleep(clock, 1000);
            answers.push(await heartbeat());
          },
        },
      ],
      around: (store) => aroundCall(store, 'leases', 'renew', () => Promise.reject(unavailable())),
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(1000);
    expect(answers).toEqual([true, false]);
    await pool.stop();
  });

  it('bulk-action BA-15: the age of a lease counts from the first request, not from the repeated answer', async () => {
    const { processors, clock } = working(600_000);
    const renewedAt: number[] = [];
    const lose = losingAnswers(1);
    const { pool, submit } = bench({
      config: { ...shortLeases, workerPool: { ...shortLeases.workerPool, workerCount: 1 } },
      processors,
      clock,
      around: (store, clock) =>
        aroundCall(aroundCall(store, 'leases', 'reserve', lose), 'leases', 'renew', (call) => {
          renewedAt.push(clock.monotonicMs());
          return call();
        }),
    });
    await clock.advance(500);
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(1000);
    // A third of the lease had passed when the answer came: renewed at once.
    expect(renewedAt[0]).toBe(1500);
    const stopping = pool.stop();
    await clock.advance(60_000);
    await stopping;
  });

  it('bulk-action BA-15: leases of jobs that have ended are renewed no more', async () => {
    const { processors, clock } = working(500);
    let renewals = 0;
    const { pool, submit, counts } = bench({
      config: shortLeases,
      processors,
      clock,
      around: (store) =>
        aroundCall(store, 'leases', 'renew', (call) => {
          renewals += 1;
          return call();
        }),
    });
    await submit('g', jobsOf(3));
    await pool.start();
    await clock.advance(10 * ACK_MS);
    expect(await counts('g')).toMatchObject({ success: 3 });
    expect(renewals).toBe(0);
    await pool.stop();
  });

  it('bulk-action BA-15: a lease that its own settlement has ended is not taken for lost', async () => {
    const aborted = vi.fn();
    const { pool, clock, submit, counts, linesOf } = bench({
      config: shortLeases,
      processors: [
        { type: 'T', process: (_: Job, { signal }: JobContext) => signal.addEventListener('abort', aborted) },
      ],
      around: (store, clock) =>
        aroundCall(store, 'leases', 'settle', async (call) => {
          const answer = await call();
          await sleep(clock, 2500);
          return answer;
        }),
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(5000);
    expect(await counts('g')).toMatchObject({ success: 1 });
    expect(pool.counters.success).toBe(1);
    expect(linesOf('warn')).toEqual([]);
    expect(aborted).not.toHaveBeenCalled();
    await pool.stop();
  });
});

describe('orphans', () => {
  it('bulk-action BA-15: expired leases are recovered in batches, logged at WARN and counted', async () => {
    const { pool, clock, submit, memory, linesOf, counts } = bench({
      config: {
        ...shortLeases,
        reliableQueue: { ackTimeoutMs: ACK_MS, orphanRecoveryBatchSize: 2, orphanRecoveryIntervalMs: 1000 },
      },
      processors: [{ type: 'T', process: () => {} }],
    });
    await submit('g', jobsOf(5));
    await memory.gate.fetch(10);
    const { jobs } = await memory.leases.reserve({ instanceId: 'dead', seq: 1, max: 5 });
    expect(jobs).toHaveLength(5);
    await pool.start();
    await clock.advance(ACK_MS + 120_000);
    expect(await counts('g')).toMatchObject({ success: 5, inFlight: 0 });
    expect(pool.counters).toMatchObject({ orphansRecovered: 5, deadLetters: 0, success: 5 });
    expect(linesOf('warn').map(({ fields }) => fields.recovered)).toEqual([2, 2, 1]);
    await pool.stop();
  });

  it('bulk-action BA-15: a job whose lease expires too often is a dead letter, logged at ERROR', async () => {
    const { pool, clock, submit, memory, linesOf, job } = bench({
      config: { ...shortLeases, reliableQueue: { ackTimeoutMs: ACK_MS, maxOrphanCount: 0 } },
    });
    await submit('g', [jobOf('j1')]);
    await memory.gate.fetch(1);
    await memory.leases.reserve({ instanceId: 'dead', seq: 1, max: 1 });
    await clock.advance(ACK_MS);
    const { recovered, dead } = await pool.orphanRecovery.recoverOnce();
    expect([recovered, dead]).toEqual([1, [{ key: '/g', jobId: 'j1', traceparent: '' }]]);
    expect(await job('g', 'j1')).toMatchObject({ place: 'DEAD' });
    expect(linesOf('error')).toMatchObject([{ fields: { jobId: 'j1', code: 'ORPHANED' } }]);
    expect(pool.counters.deadLetters).toBe(1);
    await pool.stop();
  });

  it('bulk-action BA-15: a recovery that fails is logged and the next comes on time', async () => {
    let calls = 0;
    const { pool, clock, linesOf } = bench({
      around: (store) =>
        aroundCall(store, 'leases', 'recover', (call) =>
          calls++ === 0 ? Promise.reject(unavailable()) : call(),
        ),
    });
    await pool.start();
    await clock.advance(5000);
    expect(calls).toBe(2);
    expect(linesOf('error')).toMatchObject([{ fields: { loop: 'OrphanRecovery' } }]);
    await pool.stop();
  });
});
