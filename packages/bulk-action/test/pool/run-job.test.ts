import { NonRetryableError, RateLimitedError, sleep } from '@millrace/foundation';
import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import type { Job, JobContext, JobProcessor } from '../../src/processor.js';
import { type BenchOptions, bench, jobOf, jobsOf } from './bench.js';

type Handler = (job: Job, context: JobContext, clock: ManualClock) => unknown;

/** One job, run as far as it goes without time. */
async function runOne(handler: Handler, options: BenchOptions = {}) {
  const process: JobProcessor['process'] = (job, context) => handler(job, context, made.clock);
  const made = bench({ processors: [{ type: 'T', process }], ...options });
  await made.submit('g', [jobOf('j1')]);
  await made.pool.start();
  await made.clock.advance(0);
  return made;
}

const hostile = new Proxy(
  {},
  {
    get(_, key) {
      // Without this no promise could carry it.
      if (key === 'then') return undefined;
      throw new Error('do not look');
    },
    ownKeys() {
      throw new Error('do not look');
    },
  },
);
const circular: Record<string, unknown> = {};
circular.self = circular;

describe('what a handler may give back', () => {
  it.each([
    ['nothing', undefined, undefined],
    ['plain data', 7, 7],
    ['an answer', { success: true, data: [1] }, [1]],
    ['a full response', { jobId: 'x', success: true, data: 'd', durationMs: 9 }, 'd'],
    ['data with a member success', { success: true, id: 3 }, { success: true, id: 3 }],
    ['null', null, null],
  ])('bulk-action BA-5: a handler that returns %s has succeeded', async (_, returned, data) => {
    const { pool, settled } = await runOne(() => returned);
    expect(settled[0]?.response).toMatchObject({ success: true, jobId: 'j1' });
    expect(settled[0]?.response.data).toEqual(data);
    await pool.stop();
  });

  it('bulk-action BA-8: a handler may answer success: false with an error of its own', async () => {
    const error = { message: 'no such user', code: 'NO_USER', retryable: false };
    const { pool, settled, job, linesOf } = await runOne(() => ({ success: false, error }));
    expect(settled[0]?.response.error).toEqual(error);
    expect(await job('g', 'j1')).toMatchObject({ status: 'FAILED', place: 'DONE' });
    expect(pool.counters).toMatchObject({ failed: 1, deadLetters: 0, retries: 0 });
    expect(linesOf('info').filter(({ message }) => message === 'Group ended: COMPLETED')).toHaveLength(1);
    await pool.stop();
  });

  it('bulk-action BA-8: an answer without an error is a retryable failure', async () => {
    const { pool, settled } = await runOne(() => ({ success: false }));
    expect(settled[0]?.response.error).toMatchObject({ code: 'HANDLER_FAILED', retryable: true });
    await pool.stop();
  });

  it.each([
    ['undefined', undefined],
    ['a string', 'broken'],
    ['a circular object', circular],
    ['a hostile proxy', hostile],
    ['an error with an endless code', Object.assign(new Error('x'), { code: 'C'.repeat(100_000) })],
  ])('bulk-action BA-8: a processor that throws %s fails its try and nothing else', async (_, thrown) => {
    const { pool, settled, job, clock, submit } = await runOne(({ id }) => {
      if (id === 'j1') throw thrown;
    });
    expect(settled[0]?.response).toMatchObject({ success: false, error: { retryable: true } });
    expect(settled[0]?.response.error?.code?.length).toBeLessThanOrEqual(100);
    expect(await job('g', 'j1')).toMatchObject({ place: 'NON_READY', reason: 'TRANSIENT_ERROR' });
    await submit('h', [jobOf('k1')]);
    await clock.advance(0);
    expect(await job('h', 'k1')).toMatchObject({ status: 'COMPLETED' });
    await pool.stop();
  });

  it('bulk-action BA-8: a hostile value that is returned fails the try and nothing else', async () => {
    const { pool, settled } = await runOne(() => hostile);
    expect(settled[0]?.response).toMatchObject({ success: false, error: { message: 'do not look' } });
    await pool.stop();
  });

  it.each([
    ['too large', 'x'.repeat(20_000)],
    ['circular', circular],
    ['a function', () => {}],
    ['a BigInt', 5n],
  ])(
    'bulk-action BA-13: a result that is %s is not kept, and the job succeeds all the same',
    async (_, data) => {
      const { pool, lines, job } = await runOne(() => ({ success: true, data }), {
        config: { keepResults: true },
      });
      expect(await job('g', 'j1')).toMatchObject({ status: 'COMPLETED' });
      expect(lines.filter(({ message }) => message.startsWith('The result is not kept'))).toMatchObject([
        { level: 'debug', fields: { jobId: 'j1' } },
      ]);
      await pool.stop();
    },
  );
});

describe('failures', () => {
  it('bulk-action BA-8: retries come until they are spent: 3 = at most four executions', async () => {
    const process = vi.fn(() => {
      throw new Error('again');
    });
    const { pool, clock, job, linesOf } = await runOne(process);
    await clock.advance(600_000);
    expect(process).toHaveBeenCalledTimes(4);
    expect(await job('g', 'j1')).toMatchObject({ status: 'FAILED', place: 'DEAD', retryCount: 3 });
    expect(linesOf('warn').map(({ message }) => message.slice(0, 9))).toEqual([
      'Retry 1/3',
      'Retry 2/3',
      'Retry 3/3',
    ]);
    expect(linesOf('error')).toHaveLength(1);
    await pool.stop();
  });

  it('bulk-action BA-8: a processor’s own retry policy counts, and NonRetryableError ends at once', async () => {
    const process = vi.fn(({ id }: Job) => {
      throw id === 'j1' ? new Error('again') : new NonRetryableError('never');
    });
    const { pool, clock, submit, job } = bench({
      processors: [{ type: 'T', retry: { retries: 1 }, process }],
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(600_000);
    expect(process.mock.calls.map(([{ id }]) => id).sort()).toEqual(['j1', 'j1', 'j2']);
    expect(await job('g', 'j1')).toMatchObject({ place: 'DEAD' });
    expect(await job('g', 'j2')).toMatchObject({ place: 'DONE', status: 'FAILED' });
    await pool.stop();
  });

  it('bulk-action BA-8: throttled tries spend no retry', async () => {
    let tries = 0;
    const { pool, clock, job } = await runOne(() => {
      if (++tries <= 6) throw new RateLimitedError({ retryAfterMs: 500 });
    });
    expect(await job('g', 'j1')).toMatchObject({ reason: 'API_THROTTLED', retryCount: 0 });
    await clock.advance(10_000);
    expect(tries).toBe(7);
    expect(await job('g', 'j1')).toMatchObject({ status: 'COMPLETED', retryCount: 0 });
    expect(pool.counters).toMatchObject({ retries: 0, success: 1 });
    await pool.stop();
  });

  it('bulk-action BA-8: without a processor the job waits, spends no retry, and runs once there is one', async () => {
    const { pool, clock, submit, job, registry } = bench();
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(60_000);
    const waiting = await job('g', 'j1');
    expect(waiting).toMatchObject({ status: 'PENDING', reason: 'NO_PROCESSOR', retryCount: 0 });
    expect(waiting?.failedTries.at(-1)).toMatchObject({ code: 'PROCESSOR_NOT_FOUND' });
    registry.register({ type: 'T', process: () => {} });
    await clock.advance(5000);
    expect(await job('g', 'j1')).toMatchObject({ status: 'COMPLETED', retryCount: 0 });
    await pool.stop();
  });

  it('bulk-action BA-5: a payload that does not parse is a failure for good', async () => {
    const process = vi.fn();
    const { pool, clock, submit, settled, counts } = bench({ processors: [{ type: 'T', process }] });
    await submit('g', [jobOf('j1', { payload: '{"n":' }), jobOf('j2')]);
    await pool.start();
    await clock.advance(0);
    expect(process).toHaveBeenCalledTimes(1);
    expect(settled[0]).toMatchObject({
      response: { jobId: 'j1', error: { code: 'PAYLOAD_INVALID', retryable: false } },
      answer: { status: 'accepted', jobStatus: 'FAILED' },
    });
    expect(await counts('g')).toMatchObject({ failed: 1, success: 1 });
    await pool.stop();
  });
});

describe('time limits', () => {
  it('bulk-action BA-9: a handler that ignores its signal is abandoned after abortGraceMs: slot replaced, late result ignored', async () => {
    const mayEnd = latch('the first handler may end');
    const started: string[] = [];
    const { pool, clock, submit, job, linesOf, settled } = bench({
      config: { workerPool: { workerCount: 1, jobTimeoutMs: 500, abortGraceMs: 200, maxRetryCount: 0 } },
      processors: [
        {
          type: 'T',
          process: async ({ id }: Job) => {
            started.push(id);
            if (id === 'j1') await mayEnd.promise;
          },
        },
      ],
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(699);
    expect([started, pool.abandoned]).toEqual([['j1'], 0]);
    await clock.advance(1);
    expect([started, pool.abandoned]).toEqual([['j1', 'j2'], 1]);
    expect(settled.map(({ response }) => [response.jobId, response.success])).toEqual([
      ['j1', false],
      ['j2', true],
    ]);
    expect(await job('g', 'j1')).toMatchObject({
      status: 'FAILED',
      failedTries: [{ code: 'JOB_TIMEOUT', ms: 700 }],
    });
    expect(linesOf('warn')).toMatchObject([
      { fields: { jobId: 'j1' }, message: expect.stringContaining('abandoned') },
    ]);
    mayEnd.open();
    await clock.advance(0);
    expect(pool.abandoned).toBe(0);
    expect(settled).toHaveLength(2);
    expect(pool.counters).toMatchObject({ success: 1, failed: 1, timeouts: 1 });
    await pool.stop();
  });

  it('bulk-action BA-9: an abandoned handler that rejects later is nobody’s unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    try {
      const { pool, clock } = await runOne(
        (_, __, time) =>
          new Promise((_, reject) => void time.setTimer(5000, () => reject(new Error('much too late')))),
        { config: { workerPool: { jobTimeoutMs: 500, abortGraceMs: 0, maxRetryCount: 0 } } },
      );
      await clock.advance(500);
      expect(pool.abandoned).toBe(1);
      await clock.advance(5000);
      expect(pool.abandoned).toBe(0);
      await pool.stop();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  it('bulk-action BA-9: success after the timeout and within the grace is still a timeout', async () => {
    const { pool, clock, settled } = await runOne((_, __, time) => sleep(time, 600).then(() => 'done'), {
      config: { workerPool: { jobTimeoutMs: 500 } },
    });
    await clock.advance(600);
    expect(settled[0]?.response).toMatchObject({
      success: false,
      error: { code: 'JOB_TIMEOUT' },
      durationMs: 600,
    });
    await pool.stop();
  });

  it('bulk-action BA-9: a processor’s own timeoutMs counts instead of jobTimeoutMs', async () => {
    const { pool, clock, submit, settled } = bench({
      processors: [
        {
          type: 'T',
          timeoutMs: 100,
          process: (_: Job, { signal }: JobContext) => sleep(clock, 9999, signal),
        },
      ],
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(100);
    expect(settled[0]?.response).toMatchObject({ error: { code: 'JOB_TIMEOUT' }, durationMs: 100 });
    await pool.stop();
  });

  it('bulk-action BA-9: a deadline that passes during the run aborts the signal and fails for good', async () => {
    const reasons: unknown[] = [];
    const { pool, clock, submit, job } = bench({
      processors: [
        {
          type: 'T',
          process: async (_: Job, { signal, deadline }: JobContext) => {
            expect(deadline).toBeInstanceOf(Date);
            await sleep(clock, 9999, signal);
            reasons.push(signal.reason);
          },
        },
      ],
    });
    await submit('g', [jobOf('j1', { deadline: clock.now() + 700 })]);
    await pool.start();
    await clock.advance(700);
    expect(reasons).toMatchObject([{ code: 'DEADLINE_EXCEEDED' }]);
    expect(await job('g', 'j1')).toMatchObject({
      status: 'FAILED',
      place: 'DONE',
      failedTries: [{ code: 'DEADLINE_EXCEEDED', ms: 700 }],
    });
    expect(pool.counters).toMatchObject({ failed: 1, timeouts: 0 });
    await pool.stop();
  });
});

describe('what a handler is given', () => {
  it('bulk-action BA-5: the context can be spread, logs with the job, and its key is the same for every try', async () => {
    const keys: string[] = [];
    const { pool, clock, lines } = await runOne(
      (_, context) => {
        const { log, idempotencyKey, attempt } = { ...context };
        log.info({ step: 1 }, 'from the handler');
        keys.push(`${idempotencyKey} ${attempt}`);
        if (attempt === 1) throw new Error('again');
      },
      { config: { backpressure: { defaultBackoffMs: 10 } } },
    );
    await clock.advance(1000);
    expect(keys).toEqual(['/g:j1 1', '/g:j1 2']);
    expect(lines.filter(({ message }) => message === 'from the handler')).toMatchObject([
      { fields: { instance: 'one', groupId: 'g', jobId: 'j1', attempt: 1, step: 1 } },
      { fields: { attempt: 2 } },
    ]);
    await pool.stop();
  });

  it('bulk-action BA-5: the group of a tenant is named tenant/id', async () => {
    const groups: string[] = [];
    const { pool, clock, submit } = bench({
      processors: [
        { type: 'T', process: ({ groupId, tenant }) => void groups.push(`${groupId} of ${tenant}`) },
      ],
    });
    await submit('g', [jobOf('j1')], { key: 'acme/g', tenant: 'acme', tenantId: 'acme' });
    await pool.start();
    await clock.advance(0);
    expect(groups).toEqual(['acme/g of acme']);
    await pool.stop();
  });
});
