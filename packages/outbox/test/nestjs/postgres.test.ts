import { PgDatabase } from '@millrace/postgres';
import { postgresSandbox, until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { defineDag, migrateOutbox, type TransactionalContext, task } from '../../src/index.js';
import { Batches, OutboxModule, OutboxTask, Pusher } from '../../src/nestjs/index.js';
import { boot, ended, QUIET, refused, start } from './boot.js';

class Ledger {
  async total({ tx }: TransactionalContext): Promise<number> {
    const { rows } = await tx.query<{ n: number }>('SELECT 6 * 7 AS n');
    return rows[0]?.n ?? 0;
  }
}
OutboxTask('settle', 'total')(
  Ledger.prototype,
  'total',
  Object.getOwnPropertyDescriptor(Ledger.prototype, 'total') as TypedPropertyDescriptor<Ledger['total']>,
);

it('outbox: on PostgreSQL the module wants the tables to be there, runs on them, and leaves no connection behind', async () => {
  await using sandbox = await postgresSandbox();
  await using beside = new PgDatabase({ url: sandbox.url });
  const applicationName = 'outbox under test';
  const connections = async () => {
    const sql = 'SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name LIKE $1';
    return (await beside.query<{ n: number }>(sql, [`${applicationName}:%`])).rows[0]?.n;
  };
  const none = () => until(async () => (await connections()) === 0, { what: 'the connections to be closed' });
  const root = {
    imports: [
      OutboxModule.forRootAsync({
        useFactory: () => ({
          ...QUIET,
          concurrency: 20,
          database: { url: sandbox.url, applicationName },
          dags: [defineDag('settle', { total: task({}) })],
        }),
      }),
    ],
    providers: [Ledger],
  };
  await expect(start(root)).rejects.toThrow(refused('SCHEMA_OUTDATED'));
  await none();
  await migrateOutbox(beside);
  const app = await boot(root);
  const { id } = await app.get(Pusher).start('settle', 'day');
  expect(await ended(app.get(Batches), id)).toMatchObject({ status: 'DONE' });
  expect((await app.get(Batches).task(id, 'total')).result).toBe(42);
  expect(await connections()).toBeGreaterThan(0);
  await app.close();
  await none();
});
