import { NonRetryableError } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type Batch, type TaskContext, task } from '../../src/index.js';
import { heldHandler } from '../handlers.js';
import { type ContractSuite, DEADLINE_MS, leaveMark, statusesOf } from './home.js';

const idle = () => {};

/** Handlers that fail as long as they are broken, and a count of their calls. */
function workshop() {
  const broken = new Set<string>();
  const calls: string[] = [];
  const run = ({ taskKey }: TaskContext) => {
    calls.push(taskKey);
    if (broken.has(taskKey)) throw new NonRetryableError(`${taskKey} is broken`);
    return taskKey;
  };
  return { broken, calls, run };
}

/** Batches that run again after their end. */
export const retrySuite: ContractSuite = (home) => {
  it('outbox OB-8: after FAILED what failed and what was cancelled runs, what is done does not', async () => {
    const { broken, calls, run } = workshop();
    const dag = home().dag({
      a: task({ run }),
      bad: task({ after: ['a'], run }),
      c: task({ after: ['bad'], run }),
      d: task({ after: ['c', 'a'], run }),
    });
    broken.add('bad');
    await using outbox = await home().outbox([dag]);
    const ends: Batch[] = [];
    outbox.onBatchEnd((_, batch) => void ends.push(batch));
    const { id } = await outbox.pusher.start(dag.name, 'k');
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
    // Broken again: it fails again.
    expect(await outbox.batches.retry(id)).toMatchObject({ id, status: 'RUNNING', endedAt: undefined });
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
    expect(calls).toEqual(['a', 'bad', 'bad']);
    broken.clear();
    expect(await outbox.batches.retry(id)).toMatchObject({ status: 'RUNNING', openCount: 3, runNo: 1 });
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(calls).toEqual(['a', 'bad', 'bad', 'bad', 'c', 'd']);
    const tasks = await home().tasks(outbox, id);
    expect(tasks.bad).toMatchObject({ status: 'DONE', attempts: 1, error: undefined, result: 'bad' });
    expect(ends.map(({ status }) => status)).toEqual(['FAILED', 'FAILED', 'DONE']);
    // Nothing is left to run again.
    const done = await outbox.batches.get(id);
    expect(await outbox.batches.retry(id)).toEqual(done);
  });

  it('outbox OB-8: after ABORTED the batch goes on; what an old handler says is refused', async () => {
    const calls: number[] = [];
    const isRunning = latch('the handler of the first try runs');
    const mayEnd = latch('the handler of the first try may end');
    const isOver = latch('the handler of the first try has ended');
    const dag = home().dag({
      first: task({ run: idle }),
      a: task({
        mode: 'external',
        after: ['first'],
        run: async () => {
          const call = calls.push(1);
          if (call > 1) return 'second';
          isRunning.open();
          await mayEnd.promise;
          isOver.open();
          return 'first, too late';
        },
      }),
      b: task({ after: ['a'], run: ({ inputs }) => inputs }),
    });
    await using outbox = await home().outbox([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    await isRunning.wait(DEADLINE_MS);
    await outbox.batches.abort(id);
    expect(await outbox.batches.retry(id)).toMatchObject({ status: 'RUNNING', openCount: 2 });
    mayEnd.open();
    await isOver.wait(DEADLINE_MS);
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    const tasks = await home().tasks(outbox, id);
    expect(statusesOf(tasks)).toEqual({ first: 'DONE', a: 'DONE', b: 'DONE' });
    expect(tasks.b?.result).toEqual({ a: 'second' });
    expect(calls).toHaveLength(2);
  });

  it('outbox OB-8: what its own condition skipped stays skipped, what was skipped because of others does not', async () => {
    const { broken, run } = workshop();
    const dag = home().dag({
      never: task({ when: () => false, run }),
      afterNever: task({ after: ['never'], run }),
      bad: task({ onFailure: 'skip', run }),
      afterBad: task({ after: ['bad'], run }),
      both: task({ after: ['afterBad', 'never'], join: 'any', run }),
    });
    broken.add('bad');
    await using outbox = await home().outbox([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    expect(statusesOf(await home().tasks(outbox, id))).toMatchObject({ bad: 'FAILED', both: 'SKIPPED' });
    broken.clear();
    await outbox.batches.retry(id);
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(statusesOf(await home().tasks(outbox, id))).toEqual({
      never: 'SKIPPED',
      afterNever: 'SKIPPED',
      bad: 'DONE',
      afterBad: 'DONE',
      both: 'DONE',
    });
  });

  it('outbox OB-8: a retry that meets a retry does nothing twice', async () => {
    const { broken, calls, run } = workshop();
    const dag = home().dag({ bad: task({ run }), c: task({ after: ['bad'], run }) });
    broken.add('bad');
    await using outbox = await home().outbox([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    await home().ended(outbox, id);
    broken.clear();
    await Promise.all(Array.from({ length: 5 }, () => outbox.batches.retry(id)));
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(calls).toEqual(['bad', 'bad', 'c']);
  });

  it('outbox OB-8: a retry leaves joins with many parents as they would be', async () => {
    const { broken, run } = workshop();
    const parents = Array.from({ length: 70 }, (_, n) => `p${n}`);
    const dag = home().dag({
      ...Object.fromEntries(parents.map((key) => [key, task({ run })])),
      join: task({ after: parents, run: ({ inputs }) => Object.keys(inputs).length }),
    });
    broken.add('p3').add('p69');
    await using outbox = await home().outbox([dag]);
    const { id } = await outbox.pusher.start(dag.name, 'k');
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
    broken.clear();
    await outbox.batches.retry(id);
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect((await outbox.batches.task(id, 'join')).result).toBe(70);
  });

  describe('of a batch that still runs', () => {
    const join = (rule: 'all-done' | 'any') => {
      const { broken, calls, run } = workshop();
      const { isRunning, mayEnd, run: held } = heldHandler();
      const dag = home().dag({
        bad: task({ onFailure: 'skip', run }),
        slow: task({ mode: 'external', run: () => held().then(() => void calls.push('slow')) }),
        join: task({ after: ['bad', 'slow'], join: rule, run }),
      });
      broken.add('bad');
      return { broken, calls, mayEnd, isRunning, dag };
    };

    it('outbox OB-1: what waits for a retried task waits for it again', async () => {
      const { broken, calls, mayEnd, isRunning, dag } = join('all-done');
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await isRunning.wait(DEADLINE_MS);
      await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'FAILED');
      broken.clear();
      await outbox.batches.retryTask(id, 'bad');
      await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'DONE');
      expect(await outbox.batches.task(id, 'join')).toMatchObject({ status: 'READY', waiting: true });
      mayEnd.open();
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
      expect(calls).toEqual(['bad', 'bad', 'slow', 'join']);
    });

    it('outbox OB-1: a task that fails again is no second end for what waits', async () => {
      const { calls, mayEnd, isRunning, dag } = join('any');
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await isRunning.wait(DEADLINE_MS);
      await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'FAILED');
      await outbox.batches.retry(id);
      await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'FAILED');
      expect(await outbox.batches.task(id, 'join')).toMatchObject({ status: 'READY', waiting: true });
      mayEnd.open();
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
      expect(calls).toEqual(['bad', 'bad', 'slow', 'join']);
    });

    it('outbox OB-1: ends that are not counted yet are not forgotten by a retry', async () => {
      const parents = Array.from({ length: 70 }, (_, n) => `p${n}`);
      const { broken, run } = workshop();
      const dag = home().dag({
        bad: task({ onFailure: 'skip', run }),
        ...Object.fromEntries(parents.map((key) => [key, task({ run })])),
        join: task({ after: parents, run }),
      });
      await using outbox = await home().outbox([dag], { concurrency: 1 });
      broken.add('bad');
      // Retries between every two ends: some of them come before the folder.
      let retries = 0;
      let isRetrying: Promise<unknown> = Promise.resolve();
      const { id } = await outbox.pusher.start(dag.name, 'k');
      outbox.events.on('task', ({ handler, result }) => {
        if (result !== 'done' || handler === `${dag.name}.join` || retries >= 30) return;
        retries++;
        isRetrying = isRetrying.then(() => outbox.batches.retry(id));
      });
      await home().taskIs(outbox, id, 'p69', ({ status }) => status === 'DONE');
      await isRetrying;
      expect(retries).toBeGreaterThan(10);
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
      expect(statusesOf(await home().tasks(outbox, id)).join).toBe('DONE');
    });
  });

  describe('retryTask', () => {
    it('outbox OB-8: runs one dead letter again, and what did not run because of it', async () => {
      const { broken, calls, run } = workshop();
      const dag = home().dag({
        x: task({ onFailure: 'skip', run }),
        y: task({ onFailure: 'skip', run }),
        afterX: task({ after: ['x'], run }),
        afterY: task({ after: ['y'], run }),
      });
      broken.add('x').add('y');
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      broken.clear();
      calls.length = 0;
      expect(await outbox.batches.retryTask(id, 'x')).toMatchObject({ status: 'RUNNING', openCount: 2 });
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      expect(calls).toEqual(['x', 'afterX']);
      expect(statusesOf(await home().tasks(outbox, id))).toEqual({
        x: 'DONE',
        y: 'FAILED',
        afterX: 'DONE',
        afterY: 'SKIPPED',
      });
    });

    it('outbox OB-8: another failure under fail keeps the batch FAILED', async () => {
      const { broken, calls, run } = workshop();
      const bothRun = latch('both run');
      let running = 0;
      const together = async (context: TaskContext) => {
        if (++running === 2) bothRun.open();
        await bothRun.wait(DEADLINE_MS);
        run(context);
      };
      const dag = home().dag({
        x: task({ mode: 'external', run: together }),
        y: task({ mode: 'external', run: together }),
        last: task({ after: ['x', 'y'], join: 'any', run }),
      });
      broken.add('x').add('y');
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
      broken.clear();
      await outbox.batches.retryTask(id, 'x');
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
      expect(statusesOf(await home().tasks(outbox, id))).toEqual({
        x: 'DONE',
        y: 'FAILED',
        last: 'CANCELLED',
      });
      await outbox.batches.retryTask(id, 'y');
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      expect(calls.at(-1)).toBe('last');
    });

    it('outbox OB-8: refuses a task that has not failed, and changes nothing', async () => {
      const dag = home().dag({
        done: task({ run: ({ tx, idempotencyKey }) => leaveMark(tx, idempotencyKey) }),
        skipped: task({ when: () => false, run: idle }),
      });
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      const ended = await home().ended(outbox, id);
      for (const key of ['done', 'skipped'])
        await expect(outbox.batches.retryTask(id, key)).rejects.toMatchObject({
          code: 'TASK_NOT_RETRYABLE',
          status: 409,
        });
      expect(await outbox.batches.get(id)).toEqual(ended);
      expect(await home().effects(`${id}:`)).toEqual([`${id}:done`]);
    });
  });
};
