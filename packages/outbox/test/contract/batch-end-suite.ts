import { NonRetryableError } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { recordingLogger, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type Batch, task } from '../../src/index.js';
import { type ContractSuite, DEADLINE_MS, leaveMark } from './home.js';

/** What is told of the end of a batch, and that it is told in the transaction that ends it. */
export const batchEndSuite: ContractSuite = (home, kind) => {
  /** Ends as its payload says. */
  const makeDag = () =>
    home().dag({
      a: task<string>({
        run: ({ payload }) => {
          if (payload === 'FAILED') throw new NonRetryableError('as the test wants');
        },
      }),
      b: task({ after: ['a'], run: () => {} }),
    });

  it('outbox OB-8: a listener is told of every end once, in the transaction that writes it', async () => {
    const dag = makeDag();
    await using outbox = await home().outbox([dag]);
    const ends: Batch[] = [];
    const order: string[] = [];
    outbox.onBatchEnd(async (tx, batch) => {
      ends.push(batch);
      order.push('first');
      await leaveMark(tx, `${batch.id}:${batch.status}`);
    });
    const remove = outbox.onBatchEnd(() => void order.push('second'));
    for (const end of ['DONE', 'FAILED', 'ABORTED']) {
      const starter = end === 'ABORTED' ? await home().starter([makeDag()]) : outbox;
      const name = starter === outbox ? dag.name : (starter.registry.names[0] ?? '');
      const { id } = await starter.pusher.start(name, end, end);
      const ended = end === 'ABORTED' ? await outbox.batches.abort(id) : await home().ended(outbox, id);
      expect(ended.status).toBe(end);
      expect(ends.splice(0)).toMatchObject([
        { id, status: end, openCount: 0, endedAt: ended.endedAt, payload: end },
      ]);
      const marks = await home().rows<{ mark: string; same: boolean }>(
        `SELECT f.mark, f.xmin = b.xmin AS same FROM effect f JOIN {schema}.batch_instance b ON b.id = $1
         WHERE starts_with(f.mark, b.id || ':')`,
        [id],
      );
      expect(marks).toEqual([{ mark: `${id}:${end}`, same: true }]);
      if (starter !== outbox) await starter.stop();
    }
    expect(order).toEqual(['first', 'second', 'first', 'second', 'first', 'second']);
    remove();
    const { id } = await outbox.pusher.start(dag.name, 'removed');
    await home().ended(outbox, id);
    expect(order.slice(6)).toEqual(['first']);
  });

  it('outbox OB-8: what a listener throws keeps the batch from ending, and its writes are gone; it ends when it no longer throws', async () => {
    const dag = makeDag();
    await using outbox = await home().outbox([dag]);
    let calls = 0;
    outbox.onBatchEnd(async (tx, batch) => {
      await leaveMark(tx, `${batch.id}:${++calls}`);
    });
    outbox.onBatchEnd(() => {
      if (calls < 2) throw new Error('not yet');
    });
    const { id } = await outbox.pusher.start(dag.name, 'k');
    await until(() => calls >= 1, { what: 'the listener to be told', deadlineMs: DEADLINE_MS });
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE', openCount: 0 });
    expect(calls).toBe(2);
    expect(await home().effects(`${id}:`)).toEqual([`${id}:2`]);
  });

  it('outbox OB-8: an abort that a listener refuses has not happened', async () => {
    const dag = makeDag();
    await using outbox = await home().starter([dag]);
    const refusal = new Error('not now');
    const remove = outbox.onBatchEnd(async (tx, batch) => {
      await leaveMark(tx, `${batch.id}:refused`);
      throw refusal;
    });
    const events: unknown[] = [];
    outbox.events.on('batch', (event) => void events.push(event));
    const started = await outbox.pusher.start(dag.name, 'k');
    await expect(outbox.batches.abort(started.id)).rejects.toBe(refusal);
    const { created: _, ...batch } = started;
    expect(await outbox.batches.get(batch.id)).toEqual(batch);
    expect((await outbox.batches.status(batch.id)).counts).toMatchObject({
      ready: 1,
      waiting: 1,
      cancelled: 0,
    });
    expect(await home().effects(`${batch.id}:`)).toEqual([]);
    expect(events).toEqual([]);
    remove();
    expect(await outbox.batches.abort(batch.id)).toMatchObject({ status: 'ABORTED' });
  });

  it('outbox OB-3: of two instances one tells of each end', async () => {
    const name = home().name();
    const dag = () =>
      home().dag(
        { a: task({ mode: 'external', run: () => {} }), b: task({ after: ['a'], run: () => {} }) },
        name,
      );
    const told: string[] = [];
    const listener = async (tx: Tx, batch: Batch) => {
      told.push(batch.id);
      await leaveMark(tx, `${batch.id}:${batch.status}`);
    };
    await using here = await home().outbox([dag()]);
    await using there = await home().outbox([dag()], { database: home().anotherDatabase() });
    for (const outbox of [here, there]) outbox.onBatchEnd(listener);
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? here : there).pusher.start(name, `k${n}`)),
    );
    for (const { id } of started) {
      expect(await home().ended(here, id)).toMatchObject({ status: 'DONE' });
      expect(await home().effects(`${id}:`)).toEqual([`${id}:DONE`]);
    }
    expect(new Set(told)).toEqual(new Set(started.map(({ id }) => id)));
  });

  it('outbox OB-8: a listener reads what came of the batch through its transaction, and everybody does after it', async () => {
    const dag = home().dag({
      a: task<string>({
        run: ({ payload, addTasks }) => {
          if (payload === 'FAILED') throw new NonRetryableError('as the test wants');
          addTasks([{ key: 'added', handler: `${name}.last`, payload: 'of its own' }]);
          return 'not asked for: others wait for it';
        },
      }),
      last: task({ after: ['a'], run: ({ payload }) => ({ payload }) }),
      silent: task({ after: ['a'], run: () => {} }),
      unwanted: task({ after: ['a'], when: () => false, run: () => 'never' }),
    });
    const { name } = dag;
    await using outbox = await home().outbox([dag]);
    const told = new Map<string, unknown>();
    outbox.onBatchEnd(async (tx, { id }) => {
      told.set(id, (await outbox.batches.endings([id], { bytesMax: 1_000, tx })).get(id));
    });
    const done = await outbox.pusher.start(name, 'done', 'whole');
    const failed = await outbox.pusher.start(name, 'failed', 'FAILED');
    for (const { id } of [done, failed]) await home().ended(outbox, id);
    const results = { last: { payload: 'whole' }, added: { payload: 'of its own' }, silent: null };
    const failure = {
      task: 'a',
      error: { code: 'NON_RETRYABLE', message: 'as the test wants', at: expect.any(String) },
    };
    const ends = new Map<string, unknown>([
      [done.id, { id: done.id, status: 'DONE', results, failure: undefined }],
      [failed.id, { id: failed.id, status: 'FAILED', results: undefined, failure }],
    ]);
    expect(told).toEqual(ends);
    const asked = [done.id, failed.id, '999999999', 'no id'];
    expect(await outbox.batches.endings(asked, { bytesMax: 1_000 })).toEqual(ends);
    const tooLarge = await outbox.batches.endings([done.id], { bytesMax: 50 });
    expect(tooLarge.get(done.id)).toEqual({ ...(ends.get(done.id) as object), results: undefined });
    await using starter = await home().starter([makeDag()]);
    const running = await starter.pusher.start(starter.registry.names[0] ?? '', 'k');
    expect((await starter.batches.endings([running.id], { bytesMax: 50 })).get(running.id)).toEqual({
      id: running.id,
      status: 'RUNNING',
      results: undefined,
      failure: undefined,
    });
  });

  describe('a listener that always throws for one batch', () => {
    it('outbox OB-8: does not keep others from ending', async () => {
      const dag = makeDag();
      await using outbox = await home().outbox([dag]);
      let refused = 0;
      const remove = outbox.onBatchEnd((_, { bizKey }) => {
        if (bizKey !== 'poison') return;
        refused++;
        throw new Error('never');
      });
      const poison = await outbox.pusher.start(dag.name, 'poison');
      await until(() => refused > 0, { what: 'the listener to refuse the batch', deadlineMs: DEADLINE_MS });
      const others = await Promise.all([1, 2, 3].map((n) => outbox.pusher.start(dag.name, `fine ${n}`)));
      for (const { id } of others) expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      expect(await outbox.batches.get(poison.id)).toMatchObject({ status: 'RUNNING' });
      remove();
      expect(await home().ended(outbox, poison.id)).toMatchObject({ status: 'DONE' });
    });
  });

  describe('a listener that swallows a failed statement', () => {
    it('outbox OB-8: keeps its own batch from ending, and no other is blamed', async () => {
      const dag = makeDag();
      const { log, lines } = recordingLogger();
      await using outbox = await home().outbox([dag], { logger: log });
      let swallowed = 0;
      outbox.onBatchEnd((tx, { id }) =>
        // One that tells in words of its own what it met.
        leaveMark(tx, `${id}:twice`).catch((cause: unknown) => {
          throw new Error('no mark', { cause });
        }),
      );
      outbox.onBatchEnd((tx, { id }) => leaveMark(tx, `${id}:end`));
      // The last of them: what it broke is met by others' batches only, and by the COMMIT.
      const remove = outbox.onBatchEnd(async (tx, { bizKey }) => {
        if (bizKey !== 'poison') return;
        await tx.query('SELECT 1 / 0').catch(() => {});
        swallowed++;
      });
      const keys = ['poison', 'fine 1', 'fine 2', 'fine 3'];
      const [poison, ...others] = await Promise.all(keys.map((key) => outbox.pusher.start(dag.name, key)));
      for (const { id } of others) {
        expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
        expect(await home().effects(`${id}:`)).toEqual([`${id}:end`, `${id}:twice`]);
      }
      const id = poison?.id ?? '';
      await until(() => swallowed > 1, { what: 'the batch to be told again', deadlineMs: DEADLINE_MS });
      const later = await outbox.pusher.start(dag.name, 'later');
      expect(await home().ended(outbox, later.id)).toMatchObject({ status: 'DONE' });
      expect(await outbox.batches.get(id)).toMatchObject({ status: 'RUNNING' });
      const blamed = lines.filter(({ message }) => message.startsWith('A listener failed'));
      expect(new Set(blamed.map(({ fields }) => fields.batchId))).toEqual(new Set([id]));
      remove();
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      expect(await home().effects(`${id}:`)).toEqual([`${id}:end`, `${id}:twice`]);
    });
  });

  // PGlite has one session: whoever keeps it keeps everybody waiting.
  if (kind === 'postgres')
    describe('a listener that never ends for one batch', () => {
      it('outbox OB-8: does not keep others from ending', async () => {
        const dag = makeDag();
        const database = home().anotherDatabase({ transactionTimeoutMs: 1_000 });
        const outbox = await home().outbox([dag], { database });
        let told = 0;
        outbox.onBatchEnd(async (_, { bizKey }) => {
          if (bizKey !== 'poison') return;
          told++;
          await new Promise(() => {});
        });
        const poison = await outbox.pusher.start(dag.name, 'poison');
        await until(() => told > 0, { what: 'the listener to be told', deadlineMs: DEADLINE_MS });
        const others = await Promise.all([1, 2, 3].map((n) => outbox.pusher.start(dag.name, `fine ${n}`)));
        for (const { id } of others) expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
        expect(await outbox.batches.get(poison.id)).toMatchObject({ status: 'RUNNING' });
        expect(told).toBe(1);
        await outbox.stop();
        await using next = await home().outbox([dag]);
        expect(await home().ended(next, poison.id)).toMatchObject({ status: 'DONE' });
      });
    });

  it.each(['DONE', 'ABORTED'])('outbox OB-8: a listener cannot commit by itself (%s)', async (end) => {
    const dag = makeDag();
    await using outbox = end === 'DONE' ? await home().outbox([dag]) : await home().starter([dag]);
    const refusals: unknown[] = [];
    outbox.onBatchEnd(async (tx, { id }) => {
      const commit = tx.commitWith('INSERT INTO effect (mark) VALUES ($1)', [`${id}:alone`]);
      await commit.catch((error: unknown) => refusals.push(error));
    });
    const { id } = await outbox.pusher.start(dag.name, 'k');
    const ended = end === 'DONE' ? await home().ended(outbox, id) : await outbox.batches.abort(id);
    expect(ended.status).toBe(end);
    expect(refusals).toMatchObject([
      { code: 'TX_REENTRANT', message: expect.stringContaining('the outbox commits') },
    ]);
    expect(await home().effects(`${id}:`)).toEqual([]);
  });
};
