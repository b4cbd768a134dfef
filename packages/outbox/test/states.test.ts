import { NonRetryableError } from '@millrace/foundation';
import { quoteIdentifier } from '@millrace/postgres';
import { latch, until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { defineDag, task } from '../src/define-dag.js';
import { Outbox } from '../src/outbox.js';
import { BATCH_MOVES, TASK_MOVES } from '../src/states.js';
import { openOutboxDatabase } from './open-outbox.js';

const arrowsOf = (moves: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(moves)
    .flatMap(([from, to]) => to.map((one) => `${from} → ${one}`))
    .sort();

it('outbox OB-7: tasks and batches move as drawn: every arrow is gone, and no other', async () => {
  await using opened = await openOutboxDatabase();
  const { database, schema } = opened;
  const name = quoteIdentifier(schema);
  await database.query('CREATE TABLE moved (what text, arrow text)');
  await database.query(`CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.moved VALUES (TG_TABLE_NAME, OLD.status || ' → ' || NEW.status); RETURN NULL; END $$`);
  for (const table of ['outbox_evt', 'batch_instance'])
    await database.query(`CREATE TRIGGER note AFTER UPDATE ON ${name}.${table}
      FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION note_move()`);

  const give = () => {
    throw new NonRetryableError('no');
  };
  const [asked, mayAnswer, began] = [
    latch('the condition is asked'),
    latch('it may answer'),
    latch('it runs'),
  ];
  const dags = [
    defineDag('fails', {
      flaky: task({
        backoffMs: 0,
        run: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error('once')) : 1),
      }),
      // Asked while the batch fails: what waits for both is cancelled, and after a retry it can still not start.
      asked: task({
        mode: 'external',
        when: async () => {
          asked.open();
          await mayAnswer.promise;
          return false;
        },
        run: give,
      }),
      bad: task({ after: ['flaky'], mode: 'external', run: () => asked.promise.then(give) }),
      late: task({ after: ['asked', 'bad'], run: () => 1 }),
    }),
    defineDag('skips', {
      bad: task({ onFailure: 'skip', run: give }),
      behind: task({ after: ['bad'], run: () => 1 }),
    }),
    defineDag('hangs', {
      slow: task({
        mode: 'external',
        run: ({ signal }) => {
          began.open();
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      }),
      next: task({ after: ['slow'], run: () => 1 }),
    }),
  ];
  await using outbox = new Outbox({ database, schema, dags, pollIntervalMs: 20 });
  await outbox.start();
  const ends = (id: string) =>
    until(async () => (await outbox.batches.get(id)).status !== 'RUNNING', { what: 'the end of the batch' });

  const failing = await outbox.pusher.start('fails', 'k');
  await until(async () => (await outbox.batches.task(failing.id, 'late')).status === 'CANCELLED', {
    what: 'the failure',
  });
  mayAnswer.open();
  await ends(failing.id);
  await outbox.batches.retry(failing.id);
  await ends(failing.id);

  const skipping = await outbox.pusher.start('skips', 'k');
  await ends(skipping.id);
  await outbox.batches.retry(skipping.id);
  await ends(skipping.id);

  const hanging = await outbox.pusher.start('hangs', 'k');
  await began.promise;
  await outbox.batches.abort(hanging.id);
  await outbox.batches.retry(hanging.id);
  await outbox.batches.abort(hanging.id);

  const arrows = async (table: string) =>
    (
      await database.query<{ arrow: string }>('SELECT DISTINCT arrow FROM moved WHERE what = $1', [table])
    ).rows.map(({ arrow }) => arrow);
  expect((await arrows('outbox_evt')).sort()).toEqual(arrowsOf(TASK_MOVES));
  expect((await arrows('batch_instance')).sort()).toEqual(arrowsOf(BATCH_MOVES));
}, 60_000);
