import { NonRetryableError, RateLimitedError } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type Outbox, type TaskMode, task } from '../../src/index.js';
import { heldHandler, MODES, taskIn } from '../handlers.js';
import { type ContractSuite, DEADLINE_MS, leaveMark } from './home.js';

/** A task whose failure does not end its batch. */
const eitherTask = (mode: TaskMode, run: () => unknown, rest: Parameters<typeof taskIn>[2] = {}) =>
  taskIn(mode, run, { onFailure: 'skip', ...rest });

const circular: Error & { self?: unknown } = new Error('round and round');
circular.self = circular;

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('do not touch');
    },
  },
);

/** What handlers throw, and what is kept of it. */
const THROWN: Record<string, { thrown: unknown; code?: string; message: string | RegExp }> = {
  undefined: { thrown: undefined, message: /undefined/ },
  null: { thrown: null, message: /null/ },
  text: { thrown: 'just a text', message: /just a text/ },
  number: { thrown: 7, message: /7/ },
  symbol: { thrown: Symbol('s'), message: /Symbol/ },
  circular: { thrown: circular, message: 'round and round' },
  hostile: { thrown: hostile, message: /./ },
  coded: { thrown: Object.assign(new Error('m'), { code: 'E_OWN' }), code: 'E_OWN', message: 'm' },
  unkeepable: {
    thrown: Object.assign(new Error('a\0b\ud800c'), { code: 'E\0\udc00' }),
    code: 'E\ufffd',
    message: 'ab\ufffdc',
  },
  'half a pair at the cut': { thrown: new Error(`${'x'.repeat(1_999)}😀`), message: /^x{1999}\ufffd$/ },
  long: { thrown: new Error('x'.repeat(1_000_000)), message: /^x{2000}$/ },
};

/** Tries that fail: again later, or a dead letter, in one transaction with what follows from it. */
export const failureSuite: ContractSuite = (home, kind) => {
  /** How far ahead of the database's clock a task waits for its next try. */
  const delayOf = async (id: string, key: string): Promise<{ attempts: number; delayMs: number }> => {
    const [row] = await home().rows<{ attempts: number; delay: number }>(
      `SELECT attempts, extract(epoch FROM visible_at - updated_at)::double precision * 1000 AS delay
       FROM {schema}.outbox_evt WHERE batch_id = $1 AND task_key = $2 AND visible_at > clock_timestamp()`,
      [id, key],
    );
    return { attempts: row?.attempts ?? 0, delayMs: row?.delay ?? 0 };
  };

  const waits = (outbox: Outbox, id: string, key: string) =>
    home().taskIs(outbox, id, key, ({ status, error }) => status === 'READY' && error !== undefined);

  it.each(MODES)(
    'outbox OB-2: a try that fails is repeated after a back-off by the clock of the database (%s)',
    async (mode) => {
      const fail = () => {
        throw new Error('not now');
      };
      const dag = home().dag({
        exponential: eitherTask(mode, fail, { backoffMs: 60_000 }),
        linear: eitherTask(mode, fail, {
          backoffMs: 90_000,
          retry: { retries: 4, backoff: 'linear', jitter: 0 },
        }),
        own: eitherTask(mode, fail, {
          retry: { retries: 4, backoff: (attempt) => attempt * 70_000, jitter: 0 },
        }),
        asked: eitherTask(mode, () => {
          throw new RateLimitedError({ retryAfterMs: 80_000 });
        }),
        'asked for too much': eitherTask(mode, () => {
          throw new RateLimitedError({ retryAfterMs: 1e12 });
        }),
        'not asked': eitherTask(
          mode,
          () => {
            throw new RateLimitedError();
          },
          { backoffMs: 50_000, retry: { retries: 4, jitter: 0 } },
        ),
      });
      await using outbox = await home().outbox([dag], { backoffMaxMs: 100_000 });
      const { id } = await outbox.pusher.start(dag.name, 'k');
      const delays: Record<string, number> = {};
      for (const key of dag.tasks.map(([each]) => each)) {
        const view = await waits(outbox, id, key);
        expect(view).toMatchObject({
          attempts: 1,
          waiting: false,
          workerId: undefined,
          leaseUntil: undefined,
        });
        const { attempts, delayMs } = await delayOf(id, key);
        expect(attempts).toBe(1);
        // From the start of the transaction to the statement in it.
        delays[key] = delayMs;
      }
      const between = (key: string, min: number, max: number) => {
        expect(delays[key], key).toBeGreaterThanOrEqual(min);
        expect(delays[key], key).toBeLessThan(max + 5_000);
      };
      between('exponential', 48_000, 60_000);
      between('linear', 90_000, 90_000);
      between('own', 70_000, 70_000);
      between('asked', 80_000, 80_000);
      between('asked for too much', 100_000, 100_000);
      between('not asked', 50_000, 50_000);
      await outbox.batches.abort(id);
    },
  );

  it.each(MODES)('outbox OB-2: after the last try a task is a dead letter (%s)', async (mode) => {
    const attempts: number[] = [];
    const dag = home().dag({
      a: task({
        mode: mode as 'external',
        backoffMs: 0,
        retry: { retries: 2 },
        run: ({ attempt }) => {
          attempts.push(attempt);
          throw new Error(`try ${attempt}`);
        },
      }),
    });
    await using outbox = await home().outbox([dag]);
    const results: string[] = [];
    outbox.events.on('task', ({ result }) => void results.push(result));
    const { id } = await outbox.pusher.start(dag.name, 'k');
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
    expect(attempts).toEqual([1, 2, 3]);
    expect(results).toEqual(['retried', 'retried', 'failed']);
    const letter = await outbox.batches.task(id, 'a');
    expect(letter).toMatchObject({
      status: 'FAILED',
      attempts: 3,
      attemptsMax: 3,
      leaseUntil: undefined,
      error: { code: 'HANDLER_FAILED', message: 'try 3' },
    });
    const { items } = await outbox.batches.deadLetters({ handler: `${dag.name}.a` });
    expect(items).toEqual([letter]);
  });

  it('outbox OB-2: no retries means one try; NonRetryableError is a dead letter at once', async () => {
    let calls = 0;
    const count = () => {
      calls++;
      throw new Error('once');
    };
    const { tasks } = await home().run({
      once: task({ onFailure: 'skip', retry: { retries: 0 }, run: count }),
      final: task({
        onFailure: 'skip',
        run: () => {
          calls++;
          throw new NonRetryableError('no use');
        },
      }),
    });
    expect(calls).toBe(2);
    expect(tasks.once).toMatchObject({ status: 'FAILED', attempts: 1, error: { code: 'HANDLER_FAILED' } });
    expect(tasks.final).toMatchObject({
      status: 'FAILED',
      attempts: 1,
      error: { code: 'NON_RETRYABLE', message: 'no use' },
    });
  });

  it.each(MODES)('outbox OB-7: whatever is thrown is kept with code, message and time (%s)', async (mode) => {
    const [clock] = await home().rows<{ now: Date }>('SELECT clock_timestamp() AS now');
    const { batch, tasks } = await home().run(
      Object.fromEntries(
        Object.entries(THROWN).map(([key, { thrown }]) => [
          key,
          eitherTask(
            mode,
            () => {
              throw thrown;
            },
            { retry: { retries: 0 } },
          ),
        ]),
      ),
    );
    expect(batch.status).toBe('DONE');
    for (const [key, { code = 'HANDLER_FAILED', message }] of Object.entries(THROWN)) {
      const { status, error } = tasks[key] ?? {};
      expect({ key, status, code: error?.code }).toEqual({ key, status: 'FAILED', code });
      expect(error?.message, key).toMatch(message);
      expect(Date.parse(error?.at ?? '')).toBeGreaterThanOrEqual((clock?.now.getTime() ?? 0) - 1);
    }
  });

  it('outbox OB-7: a rejected promise and a throw at once are the same', async () => {
    const { tasks } = await home().run({
      sync: task({
        onFailure: 'skip',
        retry: { retries: 0 },
        mode: 'external',
        run: () => {
          throw new Error('same');
        },
      }),
      async: task({ onFailure: 'skip', retry: { retries: 0 }, run: () => Promise.reject(new Error('same')) }),
    });
    for (const { status, error } of Object.values(tasks))
      expect({ status, message: error?.message }).toEqual({ status: 'FAILED', message: 'same' });
  });

  describe('a handler that does not end', () => {
    it('outbox OB-7: is given up after its timeout, its tx is closed and its writes are gone', async () => {
      const closed = latch<{ signal: AbortSignal; late: unknown }>('the tx is closed');
      const { batch, tasks } = await home().run({
        a: task({
          timeoutMs: 200,
          backoffMs: 0,
          run: async ({ tx, signal, attempt, idempotencyKey }) => {
            await leaveMark(tx, idempotencyKey);
            if (attempt > 1) return 'in time';
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            const late = await leaveMark(tx, idempotencyKey).catch((error: unknown) => error);
            closed.open({ signal, late });
            return 'too late';
          },
        }),
      });
      const { signal, late } = await closed.wait(DEADLINE_MS);
      expect(late).toMatchObject({ code: 'TX_CLOSED' });
      expect(signal.aborted).toBe(true);
      expect(batch.status).toBe('DONE');
      expect(tasks.a).toMatchObject({ status: 'DONE', result: 'in time', lost: 0 });
      expect(tasks.a?.attempts).toBeGreaterThan(1);
      expect(await home().effects(`${batch.id}:`)).toEqual([`${batch.id}:a`]);
    });

    it.each(MODES)(
      'outbox OB-2: its timeout counts as a try, also when it never settles (%s)',
      async (mode) => {
        const never = () => new Promise(() => {});
        const { tasks } = await home().run({
          a: eitherTask(mode, never, { timeoutMs: 60, backoffMs: 0, retry: { retries: 1 } }),
          b: task({ run: () => 'another' }),
        });
        expect(tasks.a).toMatchObject({
          status: 'FAILED',
          attempts: 2,
          lost: 0,
          error: { code: 'TASK_TIMEOUT', message: 'The handler did not end within 60 ms' },
        });
        expect(tasks.b).toMatchObject({ status: 'DONE' });
      },
    );

    it('outbox OB-7: an external one has its signal aborted, and what it says later is not heard', async () => {
      const said = latch<AbortSignal>('the handler of the first try has ended');
      const { tasks } = await home().run({
        a: task({
          mode: 'external',
          timeoutMs: 100,
          backoffMs: 0,
          run: async ({ signal, attempt }) => {
            if (attempt > 1) return said.wait(DEADLINE_MS).then(() => 'in time');
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            said.open(signal);
            return 'too late';
          },
        }),
      });
      expect((await said.wait(DEADLINE_MS)).reason).toMatchObject({ code: 'TASK_TIMEOUT' });
      expect(tasks.a).toMatchObject({ status: 'DONE', result: 'in time' });
      expect(tasks.a?.attempts).toBeGreaterThan(1);
    });
  });

  // A transactional handler holds PGlite's only session: nobody can take its claim away meanwhile.
  it.each(kind === 'postgres' ? MODES : (['external'] as const))(
    'outbox OB-6: what ends under a claim that is no longer its own changes nothing (%s)',
    async (mode) => {
      const { isRunning, mayEnd, run } = heldHandler('stale');
      const dag = home().dag({
        a: taskIn(mode, run, { write: ({ tx, idempotencyKey }) => leaveMark(tx, idempotencyKey) }),
        b: task({ after: ['a'], run: () => {} }),
      });
      await using outbox = await home().outbox([dag]);
      const ended = latch<string>('the try has ended');
      outbox.events.on('task', ({ result }) => ended.open(result));
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await isRunning.wait(DEADLINE_MS);
      // As if it had been given to another worker, and nobody had told this one.
      await home().rows(
        `UPDATE {schema}.outbox_evt SET claim_id = nextval('{schema}.outbox_claim_seq') WHERE batch_id = $1 AND task_key = 'a'`,
        [id],
      );
      const before = await home().tasks(outbox, id);
      mayEnd.open();
      expect(await ended.wait(DEADLINE_MS)).toBe('lost');
      expect(await home().tasks(outbox, id)).toEqual(before);
      expect(before).toMatchObject({ a: { status: 'PROCESSING' }, b: { waiting: true } });
      expect(await home().effects(`${id}:`)).toEqual([]);
      await outbox.batches.abort(id);
    },
  );
};
