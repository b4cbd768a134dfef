import { type Rng, seededRng } from '@millrace/foundation';
import { latch, type PostgresServer, startPostgres } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DagDefinition, defineDag, task } from '../../src/define-dag.js';
import type { Outbox } from '../../src/outbox.js';
import { eventually, PATIENCE_MS, type World, withWorld, writeEffect } from './world.js';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const BATCHES = 60;
const POLLERS = 3;

const load: DagDefinition = defineDag('load', {
  a: task({ run: (context) => writeEffect(context) }),
  b: task({ after: ['a'], run: (context) => writeEffect(context) }),
  c: task({ after: ['a'], mode: 'external', run: () => 'c' }),
  d: task({ after: ['b', 'c'], run: (context) => writeEffect(context) }),
});

/** Starts batches and runs them while something happens; everything must end, each effect once. */
async function underLoad(world: World, happening: (rng: Rng) => Promise<void>): Promise<void> {
  const open = () => world.open({ callTimeoutMs: 3_000, connectTimeoutMs: 1_000, reconnectMaxMs: 100 });
  const outboxes: Outbox[] = [];
  for (let index = 0; index < POLLERS; index++)
    outboxes.push(
      await world.startOutbox({
        dags: [load],
        database: open(),
        leaseMs: 1_000,
        lostMax: 1_000,
        concurrency: 4,
      }),
    );
  const begun = latch('the load has begun');
  const ids = new Set<string>();
  const starting = Array.from({ length: BATCHES }, async (_, index) => {
    const start = () => (outboxes[index % POLLERS] as Outbox).pusher.start('load', `k${index}`);
    const { id } = await eventually(`batch ${index} to be started`, start);
    ids.add(id);
    if (ids.size > BATCHES / 4) begun.open();
  });
  await begun.wait(PATIENCE_MS);
  await happening(seededRng('outage'));
  await Promise.all(starting);
  await world.settle(40_000);
  expect(ids.size).toBe(BATCHES);
  const effects = (await world.effects()).map(({ batch, task: key }) => `${batch} ${key}`);
  const expected = [...ids].flatMap((id) => ['a', 'b', 'd'].map((key) => `${id} ${key}`));
  expect(effects.toSorted()).toEqual(expected.toSorted());
  const { rows } = await world.database.query(
    `SELECT DISTINCT status, attempts FROM "${world.schema}".outbox_evt`,
    [],
    { repeatable: true },
  );
  expect(rows).toEqual([{ status: 'DONE', attempts: 1 }]); // Nobody's fault: no attempt is used up by it.
}

const backends = (world: World) =>
  world.database.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'millrace:pool' AND pid <> pg_backend_pid() ORDER BY pid",
    [],
    { repeatable: true },
  );

describe('a PostgreSQL that fails under load', () => {
  it('outbox OB-6: restarted fast: everything ends, each effect once', () =>
    withWorld((world) => underLoad(world, () => server.restart()), { url: server.url }));

  it('outbox OB-6: crashed and restarted: everything ends, each effect once', () =>
    withWorld(
      (world) =>
        underLoad(world, async () => {
          await server.stopImmediate();
          await server.restart();
        }),
      { url: server.url },
    ));

  it('outbox OB-6: backends terminated at random: everything ends, each effect once', () =>
    withWorld(
      (world) =>
        underLoad(world, async (rng) => {
          for (let kills = 0; kills < 40; ) {
            const { rows } = await backends(world);
            if (rows.length === 0) continue;
            const victim = rows[rng.integer(0, rows.length - 1)]?.pid;
            await world.database.query('SELECT pg_terminate_backend($1)', [victim], { repeatable: true });
            kills++;
          }
        }),
      { url: server.url },
    ));

  it('outbox OB-6: frozen for longer than the leases: everything ends, each effect once', () =>
    withWorld(
      (world) =>
        underLoad(world, async () => {
          await server.pause();
          const wakeAt = performance.now() + 1_500;
          await eventually('the freeze to end', () => performance.now() > wakeAt);
          await server.resume();
        }),
      { url: server.url },
    ));
});

describe('stopping while the database is away', () => {
  const GRACE_MS = 1_000;
  /** What is beside the grace period: a tenth of it or half a second for what is left to count, and a slow machine. */
  const BESIDE_MS = 1_500;

  it.each(['down', 'frozen'])('outbox OB-3: %s: ends within the grace period', (how) =>
    withWorld(
      async (world) => {
        const began = latch('the handlers run');
        let running = 0;
        const outbox = await world.startOutbox({
          gracePeriodMs: GRACE_MS,
          database: world.open(), // With the patience it has by default: 5 s for a statement, 30 s for a transaction.
          dags: [
            defineDag('busy', {
              writes: task({
                run: async (context) => {
                  await writeEffect(context);
                  if (++running === 2) began.open();
                  await latch('never').promise;
                },
              }),
              calls: task({
                mode: 'external',
                run: async () => {
                  if (++running === 2) began.open();
                  await latch('never').promise;
                },
              }),
            }),
          ],
        });
        await outbox.pusher.start('busy', 'k');
        await began.wait(PATIENCE_MS);
        if (how === 'down') await server.kill();
        else await server.pause();
        const startedAt = performance.now();
        await outbox.stop();
        const tookMs = performance.now() - startedAt;
        if (how === 'down') await server.restart();
        else await server.resume();
        await eventually('the server', () => world.database.query('SELECT 1'));
        expect(tookMs).toBeLessThan(GRACE_MS + BESIDE_MS);
      },
      { url: server.url, ended: false },
    ),
  );

  it('outbox OB-3: idle, and the server down: likewise', () =>
    withWorld(
      async (world) => {
        const outbox = await world.startOutbox({ gracePeriodMs: GRACE_MS, dags: [load] });
        await server.kill();
        const startedAt = performance.now();
        await outbox.stop();
        const tookMs = performance.now() - startedAt;
        await server.restart();
        await eventually('the server', () => world.database.query('SELECT 1'));
        expect(tookMs).toBeLessThan(GRACE_MS + BESIDE_MS);
      },
      { url: server.url },
    ));
});
