import { readdirSync } from 'node:fs';
import { NonRetryableError } from '@millrace/foundation';
import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';
import { latch, type TcpProxy } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, type TaskContext, type TransactionalContext, task } from '../../src/define-dag.js';
import type { Outbox } from '../../src/outbox.js';
import {
  carries,
  eventually,
  type OpenWorld,
  openWorld,
  PATIENCE_MS,
  withWorld,
  writeEffect,
} from './world.js';

/** How many replies of one kind are lost, one after the other. */
const LOSSES = 3;

/** Every statement by which tasks and batches change, or by which it is decided how. */
const VERBS = [
  'abort-batch',
  'add-tasks',
  'claim-ready',
  'clamp-times',
  'close-batch',
  'count-tasks',
  'end-tasks',
  'expired-leases',
  'extend-leases',
  'fail-batch',
  'find-batch',
  'fold-batches',
  'fold-joins',
  'get-batch',
  'lock-batch',
  'lock-descendants',
  'lock-ready-tasks',
  'lock-tasks',
  'peek-ticks',
  'read-backoff',
  'read-claims',
  'read-edges',
  'read-joins',
  'reopen-batch',
  'reopen-tasks',
  'return-tasks',
  'start-batch',
  'tidy-leases',
];

/** What other tests are about (lost too often, schedules, pruning, applied DAGs), what is done before anything runs, and what people look at. */
const ELSEWHERE =
  /^lock-expired$|schedule|^delete-|^keep-dags$|^lock-(ended|old-dags)$|-dag$|^dag-exists$|^(put-in-force|displace-applied)$|^(note|forget)-worker$|^list-|^count-by-state$|^read-(applied|backlog|clock|dag-edges|endings|heads|horizon|task-defs|tasks?|times|usual-times)$/;

/** Repeats what was refused because the database was away, as callers do. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === 20 || !DATABASE_ERRORS.is(error, 'BACKEND_UNAVAILABLE')) throw error;
    }
  }
}

const WIDE = Array.from({ length: 66 }, (_, index) => `wide${index}`);
const quick = { backoffMs: 1, retry: { retries: 1, jitter: 0 } } as const;

/** Batches whose first round is to fail, or to be aborted. */
const broken = new Set<string>();
/** Batches with a task that runs until this has happened. */
const held = new Map<string, Promise<void>>();
const runs = new Map<string, number>();
const count = ({ batch, taskKey }: TaskContext): number => {
  const key = `${batch.id} ${taskKey}`;
  runs.set(key, (runs.get(key) ?? 0) + 1);
  return runs.get(key) ?? 0;
};
const write = async (context: TransactionalContext) => {
  await writeEffect(context);
  return count(context);
};

const good = defineDag('good', [
  [
    'first',
    task({
      mode: 'external',
      run: (context) => {
        context.addTasks([{ key: 'added-by-call', handler: 'good.join', before: 'last' }]);
        return count(context);
      },
    }),
  ],
  [
    'writes',
    task({
      after: ['first'],
      run: (context) => {
        context.addTasks([{ key: 'added-by-write', handler: 'good.join' }]);
        return write(context);
      },
    }),
  ],
  [
    'flaky',
    task({
      ...quick,
      after: ['first'],
      run: async (context) => {
        if ((await write(context)) === 1) throw new Error('the first time always');
      },
    }),
  ],
  [
    'dead',
    task({
      after: ['first'],
      onFailure: 'skip',
      run: async (context) => {
        await write(context);
        throw new NonRetryableError('for good');
      },
    }),
  ],
  ['skipped', task({ after: ['dead'], run: write })],
  ['unwanted', task({ after: ['writes'], when: () => false, run: write })],
  ['unwanted-external', task({ after: ['writes'], mode: 'external', when: () => false, run: count })],
  ['last', task({ after: ['flaky', 'skipped', 'unwanted'], join: 'all-done', run: write })],
  ...WIDE.map((key) => [key, task({ mode: 'external', run: count })] as const),
  ['join', task({ after: WIDE, run: write })],
]);

const failing = defineDag('failing', {
  a: task({ run: write }),
  b: task({
    after: ['a'],
    run: async (context) => {
      await write(context);
      if (broken.has(context.batch.bizKey)) throw new NonRetryableError('this round');
    },
  }),
  c: task({ after: ['b'], run: write }),
});

const aborted = defineDag('aborted', {
  a: task({
    mode: 'external',
    run: async (context) => {
      if (broken.has(context.batch.bizKey)) await latch('never').promise;
      await held.get(context.batch.bizKey);
      return count(context);
    },
  }),
  b: task({ after: ['a'], run: write }),
});

describe('outbox OB-6, OB-7, OB-8: a reply that is lost after the statement was executed', () => {
  let world: OpenWorld;
  let proxy: TcpProxy;
  let outbox: Outbox;

  beforeAll(async () => {
    world = await openWorld({ retried: true });
    proxy = await world.startProxy();
    outbox = await world.startOutbox({
      database: world.open({ through: proxy, callTimeoutMs: 3_000 }),
      dags: [good, failing, aborted],
      leaseMs: 400,
      lostMax: 1_000,
    });
  });
  afterAll(() => world.end());

  const statusOf = async (id: string) => (await insist(() => outbox.batches.get(id))).status;
  const ends = (id: string, as: string) =>
    eventually(`batch ${id} to be ${as}`, async () => (await statusOf(id)) === as);

  /** Everything that an outbox does, to the end; `onlyHeldLeft` is told when nothing else runs. Gives the batches by DAG. */
  async function doEverything(
    key: string,
    onlyHeldLeft: () => void,
  ): Promise<Record<'good' | 'failing' | 'aborted', string>> {
    broken.add(key);
    const start = (dag: string) => insist(() => outbox.pusher.start(dag, key));
    const [whole, fails, aborts] = await Promise.all(['good', 'failing', 'aborted'].map(start));
    const ids = { good: whole?.id ?? '', failing: fails?.id ?? '', aborted: aborts?.id ?? '' };
    expect((await start('good')).id).toBe(ids.good);
    await ends(ids.failing, 'FAILED');
    const abort = () => insist(() => outbox.batches.abort(ids.aborted));
    await eventually(
      'the task to be aborted',
      async () => (await world.task(ids.aborted, 'a')).status === 'PROCESSING',
    );
    expect((await abort()).status).toBe('ABORTED');
    broken.delete(key);
    await insist(() => outbox.batches.retry(ids.failing));
    await insist(() => outbox.batches.retry(ids.aborted));
    await Promise.all([ids.good, ids.failing].map((id) => ends(id, 'DONE')));
    onlyHeldLeft();
    await ends(ids.aborted, 'DONE');
    return ids;
  }

  it.each([...VERBS, 'BEGIN', 'COMMIT'])(
    'of %s: nothing happens twice, and nothing is stuck',
    async (verb) => {
      let lost = 0;
      let isOver = false;
      const lostOne = latch('a lost reply');
      const onlyHeldLeft = latch('all other work has ended');
      /** The next reply to this, unless the case is over before it comes. */
      const lose = (what: string): Promise<void> => {
        const isIt = carries(what, world.schema);
        return proxy.cutAfterRequest((chunk) => !isOver && isIt(chunk));
      };
      const loseNext = (): Promise<void> =>
        lose(verb).then(
          () => {
            lostOne.open();
            return ++lost < LOSSES ? loseNext() : undefined;
          },
          () => (isOver ? undefined : loseNext()), // The connection had ended by itself.
        );
      void loseNext();
      // Quick work ends before its first heartbeat.
      if (verb === 'extend-leases') held.set(verb, lostOne.promise);
      // Asked only when a completion of external tasks is written again after its reply was lost. Others end tasks with the same
      // statement, so it is sure to be that reply only where nothing else runs; and losing it every time would be for ever.
      if (verb === 'read-claims') {
        for (let times = 0; times < LOSSES; times++) void lose('end-tasks');
        held.set(
          verb,
          onlyHeldLeft.promise.then(() => void (lost > 0 || lose('end-tasks'))),
        );
      }
      const ids = await doEverything(verb, () => onlyHeldLeft.open())
        .then(async (made) => {
          await eventually('a lost reply', () => lost > 0);
          await world.settle();
          return made;
        })
        .finally(() => {
          isOver = true;
          // What is held must not stay in the way of the next.
          lostOne.open();
          onlyHeldLeft.open();
        });

      const effects = await world.effects();
      const written = (batch: string) =>
        effects
          .filter((effect) => effect.batch === batch)
          .map((effect) => effect.task)
          .sort();
      expect(written(ids.good)).toEqual([
        'added-by-call',
        'added-by-write',
        'flaky',
        'join',
        'last',
        'writes',
      ]);
      expect(written(ids.failing)).toEqual(['a', 'b', 'c']);
      expect(written(ids.aborted)).toEqual(['b']);
      const { counts } = await insist(() => outbox.batches.status(ids.good));
      expect(counts).toMatchObject({ done: 7 + WIDE.length, failed: 1, skipped: 3, cancelled: 0 });
      expect(await world.task(ids.good, 'flaky')).toMatchObject({ attempts: 2 });
      for (const key of ['first', 'writes', 'last', 'join'])
        expect(await world.task(ids.good, key)).toMatchObject({ attempts: 1 });
    },
  );
});

it('outbox OB-6: no statement is forgotten here', () => {
  const all = readdirSync(new URL('../../sql/verbs/', import.meta.url)).map((file) =>
    file.replace(/\.sql$/, ''),
  );
  expect(all.filter((verb) => !ELSEWHERE.test(verb)).sort()).toEqual([...VERBS].sort());
});

describe('the reply to the COMMIT of a transactional task', () => {
  it.each(['somebody can be asked', 'nobody can be asked'])(
    'outbox OB-6: lost, and %s: its effect happens exactly once',
    (who) =>
      withWorld(async (world) => {
        const proxy = await world.startProxy();
        const order = latch<Promise<void>>('the handler has run');
        let handled = 0;
        const outbox = await world.startOutbox({
          database: world.open({ through: proxy, callTimeoutMs: 500 }),
          leaseMs: 300,
          dags: [
            defineDag('commit', {
              only: task({
                run: async (context) => {
                  await writeEffect(context);
                  if (++handled > 1) return;
                  order.open(proxy.cutAfterRequest(carries('COMMIT', world.schema)));
                  if (who === 'nobody can be asked') proxy.refuse(true);
                },
              }),
            }),
          ],
        });
        const { id } = await outbox.pusher.start('commit', 'k');
        await order.wait(PATIENCE_MS).then((cut) => cut);
        await eventually('the end of the task', async () => (await world.task(id, 'only')).status === 'DONE');
        if (who === 'nobody can be asked') proxy.cut();
        proxy.refuse(false);
        await world.settle();
        expect(await world.effects()).toHaveLength(1);
        expect(await world.task(id, 'only')).toMatchObject({ attempts: 1 });
      }),
  );
});

describe('the reply to what a stopping worker gives back', () => {
  it('outbox OB-3: lost: another worker runs the task at once, and it is charged one attempt', () =>
    withWorld(async (world) => {
      const proxy = await world.startProxy();
      const began = latch('the handler runs');
      const dagOf = (isStopping: boolean) =>
        defineDag('returned', {
          only: task({
            run: async (context) => {
              await writeEffect(context);
              if (!isStopping) return;
              began.open();
              await latch('never').promise;
            },
          }),
        });
      const stopping = await world.startOutbox({
        database: world.open({ through: proxy }),
        dags: [dagOf(true)],
        gracePeriodMs: 1_000,
      });
      const { id } = await stopping.pusher.start('returned', 'k');
      await began.wait(PATIENCE_MS);
      const cut = proxy.cutAfterRequest(carries('return-tasks', world.schema));
      await stopping.stop();
      await cut;
      expect(await world.task(id, 'only')).toMatchObject({ status: 'READY', attempts: 0, lost_cnt: 0 });
      await world.startOutbox({ dags: [dagOf(false)] });
      await world.settle();
      expect(await world.task(id, 'only')).toMatchObject({ status: 'DONE', attempts: 1, lost_cnt: 0 });
      expect(await world.effects()).toHaveLength(1);
    }));
});
