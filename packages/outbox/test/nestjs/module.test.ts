import { PgDatabase, PgliteDatabase } from '@millrace/postgres';
import { latch } from '@millrace/testkit';
import type { DynamicModule } from '@nestjs/common';
import { expect, it } from 'vitest';
import { defineDag, task } from '../../src/index.js';
import {
  Batches,
  DagRegistry,
  Dags,
  OUTBOX_DATABASE,
  Outbox,
  OutboxModule,
  type OutboxModuleOptions,
  Poller,
  Pusher,
  Schedules,
} from '../../src/nestjs/index.js';
import { QUIET, refused, start } from './boot.js';

/** A given Database that is never reached. */
const unused = { database: new PgliteDatabase() };
const TOKENS = [Outbox, Pusher, Batches, DagRegistry, Dags, Poller, Schedules, OUTBOX_DATABASE];

/** The injectables that an application has. Its start fails before the database is opened. */
async function injected(module: DynamicModule): Promise<Injected> {
  const seen = latch<Injected>('the outbox is made');
  const useFactory = (...values: Injected) => {
    seen.open(values);
    throw new Error('seen enough');
  };
  const probe = { provide: 'probe', inject: TOKENS, useFactory };
  await expect(start({ imports: [module], providers: [probe] })).rejects.toThrow('seen enough');
  return seen.promise;
}

type Injected = [outbox: Outbox, ...parts: unknown[]];

it('outbox: one outbox is behind all injectables, with the defaults and the DAGs of the module', async () => {
  const dags = [defineDag('d', { a: task({ run: () => 1 }) })];
  const [outbox, ...parts] = await injected(OutboxModule.forRoot({ ...unused, dags }));
  expect(outbox.options).toMatchObject({ pollIntervalMs: 300, concurrency: 10, leaseMs: 30_000 });
  const { pusher, batches, registry, poller, schedules } = outbox;
  const expected = [pusher, batches, registry, outbox.dags, poller, schedules, unused.database];
  expect(parts.map((part, index) => part === expected[index])).toEqual(expected.map(() => true));
  expect(registry.names).toEqual(['d']);
});

it('outbox: every application has a database of its own, which is embedded unless it has a URL', async () => {
  const databaseOf = async (module: DynamicModule) => (await injected(module)).at(-1);
  const root = OutboxModule.forRoot();
  const databases = [await databaseOf(root), await databaseOf(root)];
  expect(databases[0]).toBeInstanceOf(PgliteDatabase);
  expect(databases[0]).not.toBe(databases[1]);
  const url = 'postgres://h/d';
  // The pool that the module makes has room for the handlers.
  const server = await databaseOf(OutboxModule.forRoot({ database: { url }, concurrency: 200 }));
  expect(server).toBeInstanceOf(PgDatabase);
});

it('outbox: forRootAsync takes the options from createOutboxOptions of a class', async () => {
  class Settings {
    createOutboxOptions(): OutboxModuleOptions {
      return { ...QUIET, ...unused, leaseMs: 7_000 };
    }
  }
  const [outbox] = await injected(OutboxModule.forRootAsync({ useClass: Settings }));
  expect(outbox.options.leaseMs).toBe(7_000);
});

it.each<[object, string, string]>([
  [{ leaseMs: -1 }, 'OPTION_INVALID', 'leaseMs'],
  [{ leaseMS: 1 }, 'OPTION_UNKNOWN', "did you mean 'leaseMs'?"],
  [{ database: 'postgres://x' }, 'OPTION_INVALID', '{ url } of a PostgreSQL'],
  [{ database: { dataDri: '/x' } }, 'OPTION_UNKNOWN', "did you mean 'dataDir'?"],
  // A URL missing from the environment does not become an empty database in memory.
  [{ database: { url: undefined } }, 'OPTION_INVALID', 'url'],
  [{ database: { url: 'postgres://h/d', poolSize: 5 } }, 'OPTION_INVALID', 'concurrency'],
  [{ dags: {} }, 'OPTION_INVALID', 'a list of DAGs'],
  [{ logger: {} }, 'OPTION_INVALID', 'a Logger'],
  [5 as never, 'OPTION_INVALID', 'an object'],
])('outbox: refuses the options %j by name', (options, code, message) => {
  expect(() => OutboxModule.forRoot(options)).toThrow(refused(code, message));
});

it('outbox: refuses two outboxes, DAGs without an outbox, and DAGs that are no list', async () => {
  const root = () => OutboxModule.forRoot({ ...QUIET, ...unused });
  await expect(start({ imports: [root(), root()] })).rejects.toThrow(
    refused('OPTION_INVALID', 'imported once'),
  );
  await expect(start({ imports: [OutboxModule.forFeature([])] })).rejects.toThrow('DagRegistry');
  expect(() => OutboxModule.forFeature({} as never)).toThrow(refused('OPTION_INVALID', 'a list of DAGs'));
  expect(unused.database.state).toBe('IDLE');
});
