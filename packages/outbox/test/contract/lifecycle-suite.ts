import { latch, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { Outbox, type TransactionalContext, task } from '../../src/index.js';
import { heldHandler, MODES, taskIn } from '../handlers.js';
import { type ContractSuite, DEADLINE_MS, leaveMark, statusesOf } from './home.js';

const idle = () => {};

/** The two ends of an outbox' life. */
export const lifecycleSuite: ContractSuite = (home) => {
  describe('start', () => {
    it('refuses a schema that is not migrated', async () => {
      const dag = home().dag({ a: task({ run: idle }) });
      const { database } = home();
      await using outbox = new Outbox({ database, schema: 'nobody made it', dags: [dag] });
      await expect(outbox.start()).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' });
      expect(outbox.state).toBe('IDLE');
    });

    it('refuses a DAG with a task that nothing runs, and can be repeated', async () => {
      const dag = home().dag({ a: task({}) });
      await using outbox = home().idle([dag]);
      await expect(outbox.start()).rejects.toMatchObject({ code: 'DAG_INVALID' });
      outbox.registry.bind(dag.name, 'a', idle);
      await outbox.start();
      await outbox.start();
      const { id } = await outbox.pusher.start(dag.name, 'k');
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    });

    it('outbox OB-3: without polling it starts batches and runs nothing', async () => {
      let calls = 0;
      const dag = home().dag({ a: task({ run: () => void calls++ }) });
      const marker = home().dag({ a: task({ run: idle }) });
      await using starter = await home().starter([dag]);
      const { id } = await starter.pusher.start(dag.name, 'k');
      // Another one has run a batch from its start to its end meanwhile.
      await using other = await home().outbox([marker]);
      const { id: marked } = await other.pusher.start(marker.name, 'k');
      await home().ended(other, marked);
      expect(calls).toBe(0);
      expect(statusesOf(await home().tasks(starter, id))).toEqual({ a: 'READY' });
      expect(starter.poller.busy).toBe(0);
      await starter.batches.abort(id);
    });
  });

  describe('stop', () => {
    it.each(MODES)('outbox OB-6: lets a running task finish, and takes no other (%s)', async (mode) => {
      const { isRunning, mayEnd, run } = heldHandler('finished');
      const dag = home().dag({
        a: taskIn(mode, run),
        b: task({ after: ['a'], run: idle }),
      });
      const outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await isRunning.wait(DEADLINE_MS);
      const stopped = outbox.stop();
      mayEnd.open();
      await stopped;
      const tasks = await home().tasks(outbox, id);
      expect(tasks.a).toMatchObject({ status: 'DONE', result: 'finished', attempts: 1 });
      expect(tasks.b).toMatchObject({ status: 'READY', waiting: false, attempts: 0 });
      await using next = await home().outbox([dag]);
      expect(await home().ended(next, id)).toMatchObject({ status: 'DONE' });
    });

    it.each(MODES)(
      'outbox OB-3: past the grace period gives tasks back with the attempt returned (%s)',
      async (mode) => {
        const isRunning = latch('the task runs');
        const wasTold = latch('the signal aborts');
        const never = async ({ signal }: { signal: AbortSignal }) => {
          signal.addEventListener('abort', () => wasTold.open());
          isRunning.open();
          await new Promise(() => {});
        };
        const name = home().name();
        const write = ({ tx, idempotencyKey }: TransactionalContext) => leaveMark(tx, idempotencyKey);
        const slow = home().dag({ a: taskIn(mode, never, { write }) }, name);
        const outbox = await home().outbox([slow], { gracePeriodMs: 200 });
        const results: string[] = [];
        outbox.events.on('task', ({ result }) => void results.push(result));
        const { id } = await outbox.pusher.start(name, 'k');
        await isRunning.wait(DEADLINE_MS);
        await outbox.stop();
        expect(wasTold.opened).toBe(true);
        // On a busy machine the giving back may take longer than what is left of the grace period.
        const given = await home().taskIs(outbox, id, 'a', ({ status }) => status === 'READY');
        await until(() => results.length > 0, { what: 'the try to end', deadlineMs: DEADLINE_MS });
        // Twice when a claim was on its way, as it may be where there is one session: what it takes after the stop goes back, too.
        expect(new Set(results)).toEqual(new Set(['returned']));

        expect(given).toMatchObject({
          status: 'READY',
          waiting: false,
          attempts: 0,
          lost: 0,
          workerId: undefined,
          leaseUntil: undefined,
          error: undefined,
        });
        const isVisible = async () => {
          const [ready] = await home().rows<{ now: boolean }>(
            'SELECT visible_at <= clock_timestamp() AS now FROM {schema}.outbox_evt WHERE id = $1',
            [given.id],
          );
          return ready?.now;
        };
        await until(isVisible, { what: 'it to be visible, long before its lease would have ended' });
        expect(await home().effects(`${id}:`)).toEqual([]);
        const attempts: number[] = [];
        const run = ({ attempt }: { attempt: number }) => void attempts.push(attempt);
        const quick = home().dag({ a: taskIn(mode, run) }, name);
        await using next = await home().outbox([quick]);
        expect(await home().ended(next, id)).toMatchObject({ status: 'DONE' });
        expect(attempts).toEqual([1]);
      },
    );

    it('outbox OB-8: the ends of tasks that finished while it stopped are counted', async () => {
      const { isRunning, mayEnd, run } = heldHandler();
      const dag = home().dag({ a: task({ run }) });
      const outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await isRunning.wait(DEADLINE_MS);
      const stopped = outbox.stop();
      mayEnd.open();
      await stopped;
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'DONE', openCount: 0 });
    });

    it('a stopped one still shows batches and leaves the database to its owner', async () => {
      const dag = home().dag({ a: task({ run: idle }) });
      const outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      await home().ended(outbox, id);
      await Promise.all([outbox.stop(), outbox.stop()]);
      expect(outbox.state).toBe('STOPPED');
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'DONE' });
      await until(() => outbox.poller.busy === 0, { what: 'no task to run', deadlineMs: DEADLINE_MS });
    });
  });
};
