import { sleep } from '@millrace/foundation';
import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { Job, JobContext } from '../../src/processor.js';
import { aroundCall, bench, definitionOf, jobOf, jobsOf, losingAnswers, unavailable } from './bench.js';

const MINUTE_MS = 60_000;
const INTERVAL_MS = 5000;
const brief = { timeoutMs: MINUTE_MS };
const endedLines = (lines: readonly { readonly message: string }[]) =>
  lines.filter(({ message }) => message === 'Group ended: FAILED');

describe('Watcher', () => {
  it('bulk-action BA-14: ends a group without progress, aborts its tries, and says why', async () => {
    const clock = new ManualClock();
    const reasons: unknown[] = [];
    const process = async (_job: Job, { signal }: JobContext) => {
      if (!(await sleep(clock, 10 * MINUTE_MS, signal))) reasons.push(signal.reason);
    };
    const { pool, submit, counts, memory, linesOf } = bench({
      clock,
      config: { workerPool: { workerCount: 2, jobTimeoutMs: 20 * MINUTE_MS } },
      processors: [{ type: 'T', process }],
    });
    await submit('g', jobsOf(5), brief);
    await pool.start();
    await clock.advance(MINUTE_MS - 1);
    expect(await counts('g')).toMatchObject({ inFlight: 2, pending: 3 });
    // A cycle later at the latest, and the tries hear of it when their lease is renewed.
    await clock.advance(INTERVAL_MS + 1);
    expect(await counts('g')).toMatchObject({ cancelled: 5, inFlight: 0, pending: 0 });
    await clock.advance(40_000 / 3);
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toMatchObject({ code: 'CANCELLED' });
    expect(endedLines(linesOf('info'))).toMatchObject([
      { fields: { groupId: 'g', status: 'FAILED', code: 'GROUP_TIMEOUT' } },
    ]);
    expect(await memory.views.result('/g')).toMatchObject({ code: 'GROUP_TIMEOUT', cancelled: 5, total: 5 });
    expect((await memory.views.queues()).inFlight).toBe(0);
    await pool.stop();
  });

  it('bulk-action BA-14: leaves a group alone that makes progress, however long it takes', async () => {
    const clock = new ManualClock();
    const { pool, submit, counts } = bench({
      clock,
      config: { workerPool: { workerCount: 1, jobTimeoutMs: MINUTE_MS } },
      processors: [{ type: 'T', process: (_job, { signal }) => sleep(clock, MINUTE_MS / 2, signal) }],
    });
    await submit('g', jobsOf(10), brief);
    await pool.start();
    await clock.advance(6 * MINUTE_MS);
    expect(await counts('g')).toMatchObject({ success: 10, cancelled: 0 });
    expect(pool.counters.repaired).toBe(0);
    await pool.stop();
  });

  it('bulk-action BA-14: looks every intervalMs, a tenth earlier at most, and until nothing more is due', async () => {
    const at: number[] = [];
    const { pool, clock, memory } = bench({
      config: { workerPool: { workerCount: 0 } },
      around: (store, time) =>
        aroundCall(store, 'watch', 'look', (call) => {
          at.push(time.monotonicMs());
          return call();
        }),
    });
    for (let n = 0; n < 250; n++) await memory.groups.add(definitionOf(`g${n}`, brief), [jobOf('j')], 1);
    await pool.start();
    await clock.advance(MINUTE_MS);
    const alone = at.filter((time) => time < MINUTE_MS - INTERVAL_MS);
    const gaps = alone.slice(1).map((time, index) => time - (alone[index] as number));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(INTERVAL_MS);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(INTERVAL_MS * 0.9);
    await clock.advance(INTERVAL_MS);
    const busiest = Math.max(...at.map((time) => at.filter((other) => other === time).length));
    expect(busiest).toBe(3);
    const { items } = await memory.views.groups({ status: 'FAILED' }, 1000);
    expect(items).toHaveLength(250);
    await pool.stop();
  });

  it('bulk-action BA-14: two watchers at once end each group once', async () => {
    const first = bench({ config: { workerPool: { workerCount: 0 } } });
    const { clock, memory } = first;
    const second = bench({
      config: { workerPool: { workerCount: 0 } },
      shared: { clock, memory },
      instanceId: 'two',
    });
    for (let n = 0; n < 30; n++) await memory.groups.add(definitionOf(`g${n}`, brief), jobsOf(2), 2);
    await clock.advance(MINUTE_MS);
    const [one, two] = await Promise.all([first.pool.watcher.watchOnce(), second.pool.watcher.watchOnce()]);
    const keys = [...one.timedOut, ...two.timedOut].map(({ key }) => key);
    expect(new Set(keys).size).toBe(30);
    expect(keys).toHaveLength(30);
    expect([one.repaired, two.repaired]).toEqual([0, 0]);
    for (let n = 0; n < 30; n++) expect(await first.counts(`g${n}`)).toMatchObject({ cancelled: 2 });
  });

  it('bulk-action BA-14: an answer that is lost costs one cycle and changes nothing', async () => {
    const { pool, clock, memory, counts, linesOf } = bench({
      config: { workerPool: { workerCount: 0 } },
      around: (store) => aroundCall(store, 'watch', 'look', losingAnswers(1)),
    });
    await memory.groups.add(definitionOf('g', brief), jobsOf(2), 2);
    await clock.advance(MINUTE_MS);
    await pool.start();
    await clock.advance(0);
    expect(linesOf('error')).toMatchObject([{ fields: { loop: 'Watcher' } }]);
    const ended = await memory.views.result('/g');
    expect(ended).toMatchObject({ code: 'GROUP_TIMEOUT', cancelled: 2 });
    await memory.groups.add(definitionOf('h', { timeoutMs: 1 }), jobsOf(1), 1);
    await clock.advance(2 * INTERVAL_MS);
    expect(await counts('h')).toMatchObject({ cancelled: 1 });
    expect(await memory.views.result('/g')).toEqual(ended);
    await pool.stop();
  });

  it('bulk-action BA-14: reconciles some groups in every cycle, goes on where it stopped, and begins again', async () => {
    const cursors: unknown[] = [];
    const { pool, memory } = bench({
      config: { workerPool: { workerCount: 0 } },
      around: (store) =>
        aroundCall(store, 'watch', 'reconcile', (call, [, cursor]) => {
          cursors.push(cursor);
          return call();
        }),
    });
    for (let n = 0; n < 30; n++) await memory.groups.add(definitionOf(`g${n}`), jobsOf(2), 2);
    await pool.watcher.watchOnce();
    expect(cursors).toHaveLength(10);
    await pool.watcher.watchOnce();
    expect(cursors).toHaveLength(15);
    expect(cursors.indexOf(undefined, 1)).toBe(-1);
    expect(new Set(cursors).size).toBe(15);
    await pool.watcher.watchOnce();
    expect([cursors.length, cursors[15]]).toEqual([25, undefined]);
    expect(pool.counters.repaired).toBe(0);
  });

  it('bulk-action BA-14: counts repairs and warns of them', async () => {
    const { pool, linesOf } = bench({
      around: (store) =>
        aroundCall(store, 'watch', 'reconcile', async (call) => ({
          ...((await call()) as object),
          repaired: 2,
        })),
    });
    expect(await pool.watcher.watchOnce()).toEqual({ timedOut: [], repaired: 2 });
    expect(pool.counters.repaired).toBe(2);
    expect(linesOf('warn')).toMatchObject([{ fields: { repaired: 2 } }]);
  });

  it('bulk-action BA-14: a store that fails is asked again in the next cycle', async () => {
    let failing = true;
    const { pool, clock, memory, counts, linesOf } = bench({
      config: { workerPool: { workerCount: 0 } },
      around: (store) =>
        aroundCall(store, 'watch', 'look', (call) => (failing ? Promise.reject(unavailable()) : call())),
    });
    await memory.groups.add(definitionOf('g', { timeoutMs: 1 }), jobsOf(2), 2);
    await pool.start();
    await clock.advance(INTERVAL_MS - 1);
    expect(linesOf('error')).toHaveLength(1);
    failing = false;
    await clock.advance(1);
    expect(await counts('g')).toMatchObject({ cancelled: 2 });
    await pool.stop();
  });

  it('bulk-action BA-14: a stop lets the step under way end, and begins no other', async () => {
    const inside = latch('a look has begun');
    const goOn = latch('the look may go on');
    let looks = 0;
    const { pool, clock, memory } = bench({
      config: { workerPool: { workerCount: 0 } },
      around: (store) =>
        aroundCall(store, 'watch', 'look', async (call) => {
          looks += 1;
          inside.open();
          await goOn.promise;
          return call();
        }),
    });
    for (let n = 0; n < 250; n++) await memory.groups.add(definitionOf(`g${n}`, brief), [jobOf('j')], 1);
    await clock.advance(MINUTE_MS);
    await pool.watcher.start();
    await inside.wait();
    const stopped = pool.watcher.stop();
    goOn.open();
    await stopped;
    expect(looks).toBe(1);
    expect((await memory.views.groups({ status: 'FAILED' }, 1000)).items).toHaveLength(100);
    await expect(pool.watcher.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
  });
});
