import { NonRetryableError, type Rng, seededRng } from '@millrace/foundation';
import { type Latch, latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type DagDefinition, defineDag, type TransactionalContext, task } from '../../src/define-dag.js';
import { ERRORS } from '../../src/errors.js';
import type { Outbox } from '../../src/outbox.js';
import { findViolations } from '../check-invariants.js';
import { PATIENCE_MS, type World, withWorld, writeEffect } from './world.js';

/** Interleavings differ from run to run anyway; more seeds mean more of them. */
const SEEDS = Array.from({ length: Number(process.env.MILLRACE_RACE_SEEDS ?? 2) }, (_, index) => index + 1);

const WIDE = Array.from({ length: 66 }, (_, index) => `w${index}`);

/** A bit of everything that races can be about; tries end well or badly by chance. */
function everything(rng: Rng): DagDefinition {
  const chance = (share: number) => rng.next() < share;
  const run = async (context: TransactionalContext) => {
    await writeEffect(context);
    if (chance(0.1)) throw new Error('by chance');
    if (chance(0.03)) throw new NonRetryableError('by chance, for good');
    return context.taskKey;
  };
  const some = { run, backoffMs: 1, retry: { retries: 3, jitter: 0 } } as const;
  const external = { mode: 'external', run: () => chance(0.5), backoffMs: 1 } as const;
  return defineDag('races', [
    ['a', task(some)],
    ['b', task({ ...some, after: ['a'], onFailure: 'skip' })],
    ['c', task({ ...some, after: ['a'], onFailure: 'continue' })],
    ['d', task({ ...external, after: ['a'] })],
    ['any', task({ ...some, after: ['b', 'c', 'd'], join: 'any' })],
    ['two', task({ ...some, after: ['b', 'c', 'd'], join: { atLeast: 2 } })],
    ['ends', task({ ...some, after: ['b', 'c', 'd'], join: 'all-done' })],
    ['maybe', task({ ...some, after: ['d'], when: () => chance(0.5) })],
    ...WIDE.map((key) => [key, task(external)] as const),
    ['wide', task({ ...some, after: WIDE })],
    ['last', task({ ...some, after: ['any', 'two', 'ends', 'maybe', 'wide'], join: 'all-done' })],
  ]);
}

/** What may be refused in a race, and nothing else. */
const isRefusal = (error: unknown) =>
  ERRORS.is(error, 'TASK_NOT_RETRYABLE') || ERRORS.is(error, 'TASK_NOT_FOUND');

async function meddle(outbox: Outbox, id: string, rng: Rng): Promise<void> {
  const keys = ['a', 'b', 'c', 'any', 'last'];
  const acts = [
    () => outbox.batches.abort(id),
    () => outbox.batches.retry(id),
    () => outbox.batches.retry(id),
    () => outbox.batches.retryTask(id, keys[rng.integer(0, keys.length - 1)] ?? 'a'),
    () => outbox.batches.get(id),
  ];
  await acts[rng.integer(0, acts.length - 1)]?.().catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
  });
}

/** Transactional tasks that are DONE have one row, all others none. */
async function expectEffectsOnce(world: World): Promise<void> {
  const { rows } = await world.database.query(
    `SELECT e.batch_id, e.task_key, e.status, count(f.id)::integer AS effects
     FROM "${world.schema}".outbox_evt e LEFT JOIN effect f ON f.batch = e.batch_id::text AND f.task = e.task_key
     WHERE e.mode = 'transactional'
     GROUP BY e.id HAVING count(f.id) <> CASE WHEN e.status = 'DONE' THEN 1 ELSE 0 END`,
  );
  expect(rows).toEqual([]);
}

describe('aborts, retries and completions at the same time', () => {
  it.each(SEEDS)('outbox OB-6, OB-7, OB-8: leave every batch whole (seed %i)', (seed) =>
    withWorld(
      async (world) => {
        const dag = everything(seededRng(`tasks ${seed}`));
        const outboxes = await Promise.all(
          [1, 2, 3].map(() => world.startOutbox({ dags: [dag], leaseMs: 5_000, lostMax: 1_000 })),
        );
        const ends: string[] = [];
        const ids = await Promise.all(
          Array.from({ length: 4 }, async (_, index) => {
            const outbox = outboxes[index % 3] as Outbox;
            return (await outbox.pusher.start('races', `k${index}`)).id;
          }),
        );
        const hands = Array.from({ length: 6 }, async (_, hand) => {
          const rng = seededRng(`hand ${seed} ${hand}`);
          for (let act = 0; act < 12; act++) {
            const id = ids[rng.integer(0, ids.length - 1)] ?? '';
            await meddle(outboxes[rng.integer(0, 2)] as Outbox, id, rng);
          }
        });
        const watched = (async () => {
          for (let look = 0; look < 10; look++)
            ends.push(
              ...(await findViolations(world.database, world.schema, { ended: false, retried: true })),
            );
        })();
        await Promise.all([...hands, watched]);
        expect(ends).toEqual([]);
        await world.settle();
        await expectEffectsOnce(world);
        // Whatever they did to it, a batch can still be brought to an end that is worth something.
        for (const id of ids) await outboxes[0]?.batches.retry(id);
        await world.settle();
        await expectEffectsOnce(world);
      },
      { retried: true },
    ),
  );
});

describe('several of a kind at once', () => {
  it('outbox OB-3: sweeps: what a dead worker had is given back once', () =>
    withWorld(async (world) => {
      const count = 40;
      const began = latch('the worker has all of them');
      let begun = 0;
      const dagOf = (isDying: boolean) =>
        defineDag(
          'swept',
          Array.from({ length: count }, (_, index) => [
            `t${index}`,
            task({
              mode: 'external',
              run: async () => {
                if (!isDying) return;
                if (++begun === count) began.open();
                await latch('never').promise;
              },
            }),
          ]),
        );
      const dying = world.open({ poolSize: count + 3 });
      const dead = await world.startOutbox({
        dags: [dagOf(true)],
        database: dying,
        concurrency: count,
        leaseMs: 1_000,
        gracePeriodMs: 0,
      });
      const { id } = await dead.pusher.start('swept', 'k');
      await began.wait(PATIENCE_MS);
      await dying.stop();
      const expired: number[] = [];
      await Promise.all(
        [1, 2, 3, 4].map(async () => {
          const outbox = await world.startOutbox({ dags: [dagOf(false)], leaseMs: 1_000, lostMax: 1 });
          outbox.events.on('lease-expired', (event) => expired.push(event.count));
        }),
      );
      await world.settle();
      expect(expired.reduce((sum, n) => sum + n, 0)).toBe(count);
      const { rows } = await world.database.query(
        `SELECT DISTINCT status, attempts, lost_cnt FROM "${world.schema}".outbox_evt WHERE batch_id = $1::bigint`,
        [id],
      );
      expect(rows).toEqual([{ status: 'DONE', attempts: 1, lost_cnt: 1 }]);
    }));

  it('outbox OB-8: folders: every batch ends once, and its listeners are told in the same transaction', () =>
    withWorld(async (world) => {
      const batches = 12;
      await world.database.query('CREATE TABLE told (batch text, done integer)');
      const dag = defineDag('folded', [
        ...WIDE.map((key) => [key, task({ mode: 'external', run: () => null })] as const),
        ['join', task({ after: WIDE, mode: 'external', run: () => null })],
      ]);
      const outboxes = await Promise.all(
        [1, 2, 3, 4].map(() => world.startOutbox({ dags: [dag], concurrency: 5 })),
      );
      for (const outbox of outboxes)
        outbox.onBatchEnd(async (tx, batch) => {
          await tx.query(
            `INSERT INTO told SELECT $1::bigint::text, count(*)::integer FROM "${world.schema}".outbox_evt WHERE batch_id = $1::bigint AND status = 'DONE'`,
            [batch.id],
          );
        });
      await Promise.all(
        Array.from({ length: batches }, (_, index) =>
          outboxes[index % 4]?.pusher.start('folded', `k${index}`),
        ),
      );
      await world.settle();
      const { rows } = await world.database.query<{ done: number }>('SELECT batch, done FROM told');
      expect(rows).toHaveLength(batches);
      expect(rows.every(({ done }) => done === WIDE.length + 1)).toBe(true);
    }));

  it('outbox OB-8: two last tasks that commit together end the batch once', () =>
    withWorld(async (world) => {
      const batches = 8;
      await world.database.query('CREATE TABLE told (batch text, done integer)');
      const meeting = new Map<string, Latch<void>>();
      let met = 0;
      const run = async (context: TransactionalContext) => {
        await writeEffect(context);
        const { id } = context.batch;
        const other = meeting.get(id);
        if (other) {
          met++;
          other.open();
          return;
        }
        const mine = latch<void>('the other last task');
        meeting.set(id, mine);
        await mine.promise;
      };
      const dag = defineDag('pairs', {
        first: task({ run: writeEffect }),
        one: task({ after: ['first'], run }),
        two: task({ after: ['first'], run }),
      });
      const outboxes = await Promise.all([1, 2].map(() => world.startOutbox({ dags: [dag] })));
      for (const outbox of outboxes)
        outbox.onBatchEnd(async (tx, batch) => {
          await tx.query(
            `INSERT INTO told SELECT $1::bigint::text, count(*)::integer FROM "${world.schema}".outbox_evt WHERE batch_id = $1::bigint AND status = 'DONE'`,
            [batch.id],
          );
        });
      // One after the other: each pair needs two slots at the same time.
      for (let index = 0; index < batches; index++) {
        await outboxes[index % 2]?.pusher.start('pairs', `k${index}`);
        await world.settle();
      }
      expect(met).toBe(batches);
      const { rows } = await world.database.query<{ done: number }>('SELECT batch, done FROM told');
      expect(rows).toHaveLength(batches);
      expect(rows.every(({ done }) => done === 3)).toBe(true);
      await expectEffectsOnce(world);
    }));
});
