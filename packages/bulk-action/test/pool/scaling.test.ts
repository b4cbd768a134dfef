import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { Job } from '../../src/processor.js';
import { bench, jobsOf } from './bench.js';

/** A pool whose jobs end when told. */
async function busyPool(workerCount: number, jobs: number) {
  const gates = new Map(jobsOf(jobs).map(({ id }) => [id, latch(`${id} may end`)]));
  const made = bench({
    config: { workerPool: { workerCount } },
    processors: [{ type: 'T', process: ({ id }: Job) => gates.get(id)?.promise }],
  });
  await made.submit('g', jobsOf(jobs));
  await made.pool.start();
  await made.clock.advance(0);
  const end = async (...ids: string[]) => {
    for (const id of ids) gates.get(id)?.open();
    await made.clock.advance(0);
  };
  const running = () =>
    made.pool
      .getPoolStatus()
      .workers.flatMap(({ currentJob }) => currentJob ?? [])
      .sort();
  return { ...made, end, running };
}

describe('scaleWorkers', () => {
  it('bulk-action BA-12: up while busy: new workers take jobs at once', async () => {
    const { pool, clock, running, linesOf, end } = await busyPool(1, 4);
    expect(running()).toEqual(['j1']);
    pool.scaleWorkers(3);
    await clock.advance(200);
    expect(running()).toEqual(['j1', 'j2', 'j3']);
    expect(pool.getPoolStatus()).toMatchObject({ workerCount: 3, activeWorkers: 3, idleWorkers: 0 });
    expect(linesOf('info').map(({ message }) => message)).toContain('Workers scaled 1 → 3');
    await end('j1', 'j2', 'j3', 'j4');
    await pool.stop();
  });

  it('bulk-action BA-12: down while busy lets current jobs finish and starts no more than wanted', async () => {
    const { pool, running, counts, end, clock } = await busyPool(3, 6);
    expect(running()).toEqual(['j1', 'j2', 'j3']);
    pool.scaleWorkers(1);
    await clock.advance(0);
    const { workers, ...status } = pool.getPoolStatus();
    expect(workers.map(({ state }) => state).sort()).toEqual(['RUNNING', 'STOPPING', 'STOPPING']);
    expect(status).toMatchObject({ workerCount: 1, activeWorkers: 1, idleWorkers: 0 });
    await end('j1', 'j2', 'j3');
    expect(await counts('g')).toMatchObject({ success: 3, failed: 0 });
    expect(running()).toHaveLength(1);
    expect(pool.getPoolStatus().workers).toHaveLength(1);
    await end('j4', 'j5', 'j6');
    expect(await counts('g')).toMatchObject({ success: 6 });
    await pool.stop();
  });

  it('bulk-action BA-12: idle workers go first, and a new one gets a name nobody had', async () => {
    const { pool, clock, running, end } = await busyPool(3, 1);
    pool.scaleWorkers(1);
    await clock.advance(0);
    expect(running()).toEqual(['j1']);
    expect(pool.getPoolStatus().workers).toEqual([{ id: 'worker-1', state: 'RUNNING', currentJob: 'j1' }]);
    pool.scaleWorkers(2);
    expect(pool.getPoolStatus().workers.map(({ id }) => id)).toEqual(['worker-1', 'worker-4']);
    await end('j1');
    await pool.stop();
  });

  it('bulk-action BA-12: to 0; a shutdown waits for those that were scaled away too', async () => {
    const { pool, clock, counts, end } = await busyPool(2, 3);
    pool.scaleWorkers(0);
    let stopped = false;
    const stopping = pool.stop().then(() => {
      stopped = true;
    });
    await clock.advance(1000);
    expect(stopped).toBe(false);
    await end('j1', 'j2');
    await stopping;
    expect(await counts('g')).toMatchObject({ success: 2, pending: 1 });
  });

  it.each([-1, 1.5, Number.NaN, 1e9, '3' as unknown as number])(
    'bulk-action BA-12: %s is refused and changes nothing',
    async (count) => {
      const { pool } = bench({ config: { workerPool: { workerCount: 2 } } });
      expect(() => pool.scaleWorkers(count)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
      expect(pool.getPoolStatus().workerCount).toBe(2);
      await pool.stop();
    },
  );

  it('bulk-action BA-12: before start it is what start begins with', async () => {
    const { pool, clock } = bench({ config: { workerPool: { workerCount: 2 } } });
    pool.scaleWorkers(5);
    await pool.start();
    await clock.advance(0);
    expect(pool.getPoolStatus().activeWorkers).toBe(5);
    await pool.stop();
  });
});
