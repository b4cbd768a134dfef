import { NonRetryableError } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { type TaskContext, task } from '../../src/index.js';
import { heldHandler, MODES, taskIn } from '../handlers.js';
import { type ContractSuite, DEADLINE_MS, leaveMark, statusesOf } from './home.js';

const idle = () => {};
const bad = () => {
  throw new NonRetryableError('as the test wants');
};

/** What a failure means for the rest of the batch, and what conditions leave out. */
export const policiesSuite: ContractSuite = (home) => {
  describe('onFailure', () => {
    it('outbox OB-8: fail cancels what has not started, lets run what runs, and ends the batch as FAILED after it', async () => {
      const { isRunning, mayEnd, run } = heldHandler('finished');
      const dag = home().dag({
        bad: task({ mode: 'external', run: () => isRunning.wait(DEADLINE_MS).then(bad) }),
        slow: task({ mode: 'external', run }),
        child: task({ after: ['bad'], run: idle }),
        either: task({ after: ['bad', 'slow'], join: 'any', run: idle }),
        ends: task({ after: ['bad', 'slow'], join: 'all-done', run: idle }),
        next: task({ after: ['slow'], run: idle }),
      });
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'FAILED');
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'RUNNING' });
      mayEnd.open();
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED', openCount: 0 });
      const tasks = await home().tasks(outbox, id);
      expect(statusesOf(tasks)).toEqual({
        bad: 'FAILED',
        slow: 'DONE',
        child: 'CANCELLED',
        either: 'CANCELLED',
        ends: 'CANCELLED',
        next: 'CANCELLED',
      });
      expect(tasks.slow?.result).toBe('finished');
      expect(tasks.next).toMatchObject({ attempts: 0, startedAt: undefined });
    });

    it('outbox OB-8: in a batch that is failing a try that fails is not repeated', async () => {
      const { isRunning, mayEnd, run } = heldHandler();
      const fail = () => {
        throw new Error('would be tried again');
      };
      const dag = home().dag({
        bad: task({ mode: 'external', run: () => isRunning.wait(DEADLINE_MS).then(bad) }),
        slow: task({ mode: 'external', run: () => run().then(fail) }),
      });
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await home().taskIs(outbox, id, 'bad', ({ status }) => status === 'FAILED');
      mayEnd.open();
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'FAILED' });
      expect(await outbox.batches.task(id, 'slow')).toMatchObject({
        status: 'CANCELLED',
        attempts: 1,
        error: { message: 'would be tried again' },
      });
    });

    it('outbox OB-8: skip lets the rest of the batch end as DONE', async () => {
      const { batch, tasks } = await home().run({
        bad: task({ onFailure: 'skip', run: bad }),
        good: task({ run: idle }),
        child: task({ after: ['bad', 'good'], run: idle }),
        other: task({ after: ['good'], run: idle }),
      });
      expect(batch.status).toBe('DONE');
      expect(statusesOf(tasks)).toEqual({ bad: 'FAILED', good: 'DONE', child: 'SKIPPED', other: 'DONE' });
    });

    it.each(MODES)('outbox OB-8: continue shows the failure to what follows (%s)', async (mode) => {
      const inputs: unknown[] = [];
      const run = (context: TaskContext) => void inputs.push(context.inputs);
      const { batch, tasks } = await home().run({
        bad: taskIn(mode, bad, { onFailure: 'continue' }),
        good: task({ run: () => 1 }),
        all: task({ after: ['bad', 'good'], run }),
      });
      expect(batch.status).toBe('DONE');
      expect(statusesOf(tasks)).toEqual({ bad: 'FAILED', good: 'DONE', all: 'DONE' });
      const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(inputs).toEqual([
        { good: 1, bad: { error: { code: 'NON_RETRYABLE', message: 'as the test wants', at } } },
      ]);
    });

    it('outbox OB-8: of failures under all three policies fail decides', async () => {
      const { batch } = await home().run({
        skipped: task({ onFailure: 'skip', run: bad }),
        continued: task({ onFailure: 'continue', run: bad }),
        failed: task({ after: ['skipped', 'continued'], join: 'all-done', run: bad }),
      });
      expect(batch.status).toBe('FAILED');
    });
  });

  describe('when', () => {
    it.each(MODES)(
      'outbox OB-10: false skips a task without running it, and what needs it (%s)',
      async (mode) => {
        const calls: string[] = [];
        const conditions: unknown[] = [];
        const run = ({ taskKey }: TaskContext) => void calls.push(taskKey);
        const conditional = (
          when: (inputs: Readonly<Record<string, unknown>>) => boolean | Promise<boolean>,
          after: string[],
        ) => taskIn(mode, run, { after, when });
        const { batch, tasks } = await home().run({
          root: task({ run: () => ({ wanted: 'left' }) }),
          left: conditional(({ root }) => (root as { wanted: string }).wanted === 'left', ['root']),
          right: conditional(
            async (inputs) => {
              conditions.push(inputs);
              return (inputs.root as { wanted: string }).wanted === 'right';
            },
            ['root'],
          ),
          afterRight: task({ after: ['right'], run }),
          both: task({ after: ['left', 'right'], run }),
          either: task({ after: ['left', 'right'], join: 'any', run }),
          ends: task({
            after: ['left', 'afterRight'],
            join: 'all-done',
            run: ({ inputs }) => Object.keys(inputs),
          }),
        });
        expect(batch).toMatchObject({ status: 'DONE', openCount: 0 });
        expect(statusesOf(tasks)).toEqual({
          root: 'DONE',
          left: 'DONE',
          right: 'SKIPPED',
          afterRight: 'SKIPPED',
          both: 'SKIPPED',
          either: 'DONE',
          ends: 'DONE',
        });
        expect(tasks.right).toMatchObject({ skippedBy: 'condition', result: undefined, error: undefined });
        expect(tasks.both).toMatchObject({ skippedBy: 'cascade', attempts: 0 });
        expect(tasks.ends?.result).toEqual(['left']);
        expect(calls.sort()).toEqual(['either', 'left']);
        expect(conditions).toEqual([{ root: { wanted: 'left' } }]);
      },
    );

    it('outbox OB-10: of a root that is skipped nothing is left to run', async () => {
      const { batch, tasks } = await home().run({
        root: task({ when: () => false, run: bad }),
        child: task({ after: ['root'], run: bad }),
        grandchild: task({ after: ['child'], run: bad }),
      });
      expect(batch).toMatchObject({ status: 'DONE', openCount: 0 });
      expect(statusesOf(tasks)).toEqual({ root: 'SKIPPED', child: 'SKIPPED', grandchild: 'SKIPPED' });
    });

    it('outbox OB-10: a condition that throws is a failure like any other', async () => {
      let asked = 0;
      const { tasks } = await home().run({
        again: task({
          backoffMs: 0,
          when: () => {
            if (++asked === 1) throw new Error('not yet');
            return true;
          },
          run: ({ tx, idempotencyKey }) => leaveMark(tx, idempotencyKey),
        }),
        never: task({ onFailure: 'skip', when: bad as () => never, run: idle }),
        outside: task({ mode: 'external', onFailure: 'skip', when: bad as () => never, run: idle }),
      });
      expect(tasks.again).toMatchObject({ status: 'DONE', attempts: 2 });
      for (const key of ['never', 'outside'])
        expect(tasks[key]).toMatchObject({ status: 'FAILED', attempts: 1, error: { code: 'NON_RETRYABLE' } });
    });
  });
};
