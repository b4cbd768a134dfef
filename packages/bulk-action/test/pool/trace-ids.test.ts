import { describe, expect, it } from 'vitest';
import { bench, jobOf } from './bench.js';

const GROUP = '0af7651916cd43dd8448eb211c80319c';
const OWN = '4bf92f3577b34da6a3ce929d0e0e4736';
const contextOf = (traceId: string) => `00-${traceId}-b7ad6b7169203331-01`;
const MINUTE_MS = 60_000;

const broken = () => {
  throw new Error('on fire');
};

describe('the trace of work in the log', () => {
  it('every line about a job has the trace of the job, or of its group, and so has the log of its handler', async () => {
    const { pool, clock, submit, lines } = bench({
      config: { workerPool: { workerCount: 1, maxRetryCount: 1 } },
      processors: [
        { type: 'T', process: (_, { log }) => log.info({}, 'from the handler') },
        { type: 'broken', process: broken },
      ],
    });
    await pool.start();
    const traceparent = contextOf(GROUP);
    await submit('g', [jobOf('a'), jobOf('b', { processorType: 'broken', traceparent: contextOf(OWN) })], {
      traceparent,
    });
    await clock.advance(300_000);
    const ofJob = (id: string) => lines.filter(({ fields }) => fields.jobId === id);
    expect(ofJob('a').map(({ message }) => message)).toEqual(['from the handler', 'Job done']);
    expect(ofJob('b').map(({ level }) => level)).toEqual(['warn', 'error']);
    for (const { fields } of ofJob('a')) expect(fields).toMatchObject({ groupId: 'g', traceId: GROUP });
    for (const { fields } of ofJob('b')) expect(fields).toMatchObject({ groupId: 'g', traceId: OWN });
    await pool.stop();
  });

  it('lines about work that no process holds have it, too', async () => {
    const { pool, clock, submit, memory, lines } = bench({
      config: { reliableQueue: { ackTimeoutMs: MINUTE_MS, maxOrphanCount: 0 } },
    });
    const traceparent = contextOf(GROUP);
    await submit('orphaned', [jobOf('j')], { traceparent });
    await memory.gate.fetch(1);
    await memory.leases.reserve({ instanceId: 'dead', seq: 1, max: 1 });
    await submit('late', [jobOf('j')], { traceparent, timeoutMs: MINUTE_MS });
    await clock.advance(MINUTE_MS);
    await pool.orphanRecovery.recoverOnce();
    await pool.watcher.watchOnce();
    expect(lines.filter(({ fields }) => fields.groupId !== undefined)).toMatchObject([
      { fields: { groupId: 'orphaned', jobId: 'j', code: 'ORPHANED', traceId: GROUP } },
      { fields: { groupId: 'late', code: 'GROUP_TIMEOUT', traceId: GROUP } },
    ]);
    await pool.stop();
  });

  it('without a well-formed trace context there is no such field', async () => {
    const { pool, clock, submit, lines } = bench({ processors: [{ type: 'T', process: () => {} }] });
    await pool.start();
    await submit('none', [jobOf('j')]);
    await submit('strange', [jobOf('j')], { traceparent: 'who knows' });
    await clock.advance(1_000);
    const about = lines.filter(({ fields }) => fields.groupId !== undefined);
    expect(about.length).toBeGreaterThanOrEqual(4);
    for (const { fields } of about) expect(fields).not.toHaveProperty('traceId');
    await pool.stop();
  });
});
