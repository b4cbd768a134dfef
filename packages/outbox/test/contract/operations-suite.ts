import { NonRetryableError } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type Batch, type Outbox, task } from '../../src/index.js';
import { type ContractSuite, DEADLINE_MS, leaveMark, statusesOf } from './home.js';

const idle = () => {};

/** Ids that nobody has, and some that are none. */
const STRANGE_IDS = [
  'abc',
  '-1',
  '0',
  '1.5',
  '01',
  ' 1',
  '1e3',
  '',
  '9'.repeat(18),
  '9'.repeat(19),
  '9'.repeat(30),
  '1; DROP TABLE x',
  "1' OR '1'='1",
  '\0',
  '\ud800',
  '__proto__',
  '１',
];

/** What people do with batches that run. */
export const operationsSuite: ContractSuite = (home, kind) => {
  describe('abort', () => {
    it('outbox OB-8: cancels what waits, ends the batch as ABORTED, and is the same when repeated', async () => {
      const dag = home().dag({ a: task({ run: idle }), b: task({ run: idle, after: ['a'] }) });
      await using outbox = await home().starter([dag]);
      const ends: Batch[] = [];
      outbox.onBatchEnd((_, batch) => void ends.push(batch));
      const events: unknown[] = [];
      outbox.events.on('batch', (event) => void events.push(event));
      const { id } = await outbox.pusher.start(dag.name, 'k');
      const aborted = await outbox.batches.abort(id);
      expect(aborted).toMatchObject({ id, status: 'ABORTED', openCount: 0, endedAt: expect.any(Date) });
      const tasks = await home().tasks(outbox, id);
      expect(statusesOf(tasks)).toEqual({ a: 'CANCELLED', b: 'CANCELLED' });
      expect(await outbox.batches.abort(id)).toEqual(aborted);
      expect(await outbox.batches.get(id)).toEqual(aborted);
      expect(await home().tasks(outbox, id)).toEqual(tasks);
      expect(ends).toMatchObject([{ id, status: 'ABORTED' }]);
      expect(events).toEqual([{ id, tenant: '', dag: dag.name, bizKey: 'k', status: 'ABORTED' }]);
    });

    it('outbox OB-8: leaves a batch alone that has ended', async () => {
      const dag = home().dag({
        a: task<{ bad: boolean }>({
          run: ({ payload }) => {
            if (payload.bad) throw new NonRetryableError('as the test wants');
          },
        }),
      });
      await using outbox = await home().outbox([dag]);
      for (const bad of [false, true]) {
        const { id } = await outbox.pusher.start(dag.name, `bad ${bad}`, { bad });
        const ended = await home().ended(outbox, id);
        expect(ended.status).toBe(bad ? 'FAILED' : 'DONE');
        expect(await outbox.batches.abort(id)).toEqual(ended);
        expect(await outbox.batches.get(id)).toEqual(ended);
      }
    });

    it('outbox OB-8: tells a running external handler by its signal, and does not hear its result', async () => {
      const isRunning = latch('the handler runs');
      const heard = latch<unknown>('the signal aborts');
      const hasEnded = latch('the handler has ended');
      const dag = home().dag({
        a: task({
          mode: 'external',
          run: async ({ signal }) => {
            signal.addEventListener('abort', () => heard.open(signal.reason));
            isRunning.open();
            await heard.promise;
            hasEnded.open();
            return 'too late';
          },
        }),
        b: task({ run: idle, after: ['a'] }),
      });
      await using outbox = await home().outbox([dag]);
      const ends: Batch[] = [];
      outbox.onBatchEnd((_, batch) => void ends.push(batch));
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await isRunning.wait(DEADLINE_MS);
      expect(await outbox.batches.abort(id)).toMatchObject({ status: 'ABORTED' });
      expect(await heard.wait(DEADLINE_MS)).toMatchObject({ code: 'CLAIM_LOST' });
      await hasEnded.wait(DEADLINE_MS);
      // Everything the handler could still have written is written when the outbox has stopped.
      await outbox.stop();
      const tasks = await home().tasks(outbox, id);
      expect(statusesOf(tasks)).toEqual({ a: 'CANCELLED', b: 'CANCELLED' });
      expect(tasks.a?.result).toBeUndefined();
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'ABORTED', openCount: 0 });
      expect(ends).toHaveLength(1);
    });

    // On PGlite an abort waits its turn behind the handler: there is one session.
    if (kind === 'postgres')
      it('outbox OB-8: rolls back what a running transactional handler has written', async () => {
        const isRunning = latch('the handler runs');
        const late = latch<unknown>('the handler was told');
        const dag = home().dag({
          a: task({
            run: async ({ tx, signal, idempotencyKey }) => {
              await leaveMark(tx, idempotencyKey);
              isRunning.open();
              await new Promise((resolve) => signal.addEventListener('abort', resolve));
              late.open(await leaveMark(tx, idempotencyKey).catch((error: unknown) => error));
            },
          }),
        });
        await using outbox = await home().outbox([dag]);
        await using other = await home().starter([], { database: home().anotherDatabase() });
        const results: string[] = [];
        outbox.events.on('task', ({ result }) => void results.push(result));
        const { id } = await outbox.pusher.start(dag.name, 'k');
        await isRunning.wait(DEADLINE_MS);
        // By another instance: the hint goes through the database.
        expect(await other.batches.abort(id)).toMatchObject({ status: 'ABORTED' });
        expect(await late.wait(DEADLINE_MS)).toMatchObject({ code: 'TX_CLOSED' });
        await outbox.stop();
        expect(await home().effects(`${id}:`)).toEqual([]);
        expect(statusesOf(await home().tasks(outbox, id))).toEqual({ a: 'CANCELLED' });
        expect(results).toEqual(['lost']);
      });
  });

  it('outbox OB-8: ids that nobody has are not found, whatever they look like', async () => {
    const dag = home().dag({ a: task({ run: idle }) });
    await using outbox = await home().starter([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    const before = await home().counts();
    const calls: Record<string, (batches: Outbox['batches'], strange: string) => Promise<unknown>> = {
      get: (batches, strange) => batches.get(strange),
      status: (batches, strange) => batches.status(strange),
      tasks: (batches, strange) => batches.tasks(strange),
      task: (batches, strange) => batches.task(strange, 'a'),
      abort: (batches, strange) => batches.abort(strange),
      retry: (batches, strange) => batches.retry(strange),
      retryTask: (batches, strange) => batches.retryTask(strange, 'a'),
    };
    for (const strange of STRANGE_IDS)
      for (const [name, call] of Object.entries(calls))
        await expect(call(outbox.batches, strange), `${name}(${strange})`).rejects.toMatchObject({
          code: 'BATCH_NOT_FOUND',
          status: 404,
        });
    for (const key of ['b', '', '__proto__', 'A', "a'; DROP TABLE effect; --", 'x'.repeat(10_000)]) {
      await expect(outbox.batches.task(id, key)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
      await expect(outbox.batches.retryTask(id, key)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    }
    for (const key of ['a\0', '\ud800']) {
      await expect(outbox.batches.task(id, key)).rejects.toMatchObject({
        status: expect.toBeOneOf([400, 404]),
      });
      await expect(outbox.batches.retryTask(id, key)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    }
    expect(await home().counts()).toEqual(before);
    expect(await outbox.batches.get(id)).toMatchObject({ status: 'RUNNING' });
  });
};
