// A day is settled in steps that depend on each other: load the payments of three shops, of which one does not answer at first, book
// them, and write the report exactly once. Everything is in this process: PostgreSQL is embedded (PGlite).
import { defineDag, migrateOutbox, Outbox, task } from '@millrace/outbox';
import { PgliteDatabase } from '@millrace/postgres';
import { progressBar } from './progress-bar.mjs';

const SHOPS = ['north', 'south', 'harbour'];

const database = new PgliteDatabase();
await migrateOutbox(database);
await database.query('CREATE TABLE payment (shop text, cents int)');
await database.query('CREATE TABLE report (day text PRIMARY KEY, shops int, cents int)');

// The cash register of the harbour does not answer at the first try.
const readRegister = async (shop, attempt) => {
  if (shop === 'harbour' && attempt === 1) throw new Error('the register does not answer');
  return Array.from({ length: 100 }, (_, n) => n * (SHOPS.indexOf(shop) + 1));
};

const load = (shop) =>
  // It talks to another system, so no transaction is open meanwhile; it may run again after a failure.
  task({ mode: 'external', backoffMs: 50, run: ({ attempt }) => readRegister(shop, attempt) });

const book = (shop) =>
  // What it writes through tx is committed together with "this step is done".
  task({
    after: [`load-${shop}`],
    async run({ tx, inputs }) {
      const cents = inputs[`load-${shop}`];
      await tx.query('INSERT INTO payment SELECT $1, unnest($2::int[])', [shop, cents]);
      return cents.length;
    },
  });

const settle = defineDag('settle-day', {
  ...Object.fromEntries(
    SHOPS.flatMap((shop) => [
      [`load-${shop}`, load(shop)],
      [`book-${shop}`, book(shop)],
    ]),
  ),
  report: task({
    after: SHOPS.map((shop) => `book-${shop}`),
    async run({ tx, batch }) {
      const sums = 'SELECT $1, count(DISTINCT shop), sum(cents) FROM payment';
      await tx.query(`INSERT INTO report ${sums}`, [batch.bizKey]);
    },
  }),
  celebrate: task({ after: ['report'], when: () => false, run: () => 'not today' }),
});

const outbox = new Outbox({ database, dags: [settle] });
const bar = progressBar('steps', settle.tasks.length);
let retried = 0;
outbox.events.on('task', ({ handler, result }) => {
  if (result === 'retried') retried++;
  else bar.advance();
  if (result === 'retried') console.log(`  ${handler} failed and is tried again`);
});
const ended = new Promise((resolve) => outbox.events.on('batch', resolve));
await outbox.start();

// Whoever asks twice gets the same batch.
const [first, second] = await Promise.all(
  [1, 2].map(() => outbox.pusher.start('settle-day', '2026-07-27', { by: 'the example' })),
);
const { status } = await ended;
bar.stop();

const { counts } = await outbox.batches.status(first.id);
const { rows } = await database.query('SELECT * FROM report');
const [{ day, shops, cents }] = rows;
console.log(
  `batch ${first.id} is ${status}: ${counts.done} steps done, ${counts.skipped} skipped, ${retried} retried`,
);
console.log(`asked for twice, started ${[first, second].filter(({ created }) => created).length} time`);
console.log(`${rows.length} report: ${day}, ${shops} shops, ${(cents / 100).toFixed(2)}`);
await outbox.stop();
await database.stop();
