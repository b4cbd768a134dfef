import { type Database, PgDatabase, PgliteDatabase } from '@millrace/postgres';
import { latch } from '@millrace/testkit';
import type { DynamicModule } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/index.js';
import {
  Batches,
  DagRegistry,
  OUTBOX_DATABASE,
  Outbox,
  OutboxModule,
  type OutboxModuleOptions,
  Poller,
  Pusher,
} from '../../src/nestjs/index.js';
import { QUIET, refused, start } from './boot.js';

const dag = defineDag('d', { a: task({ run: () => 1 }) });

/** A given Database that is never reached. */
const unused = { database: new PgliteDatabase() };

/** The outbox that an application would have; the start ends before the database is opened. */
async function outboxOf(module: DynamicModule): Promise<Provided> {
  const seen = latch<Provided>('the outbox is made');
  const tokens = [Outbox, Pusher, Batches, DagRegistry, Poller, OUTBOX_DATABASE];
  const probe = {
    provide: 'probe',
    inject: tokens,
    useFactory: (...provided: Provided) => {
      seen.open(provided);
      throw new Error('seen enough');
    },
  };
  await expect(start({ imports: [module], providers: [probe] })).rejects.toThrow('seen enough');
  return seen.promise;
}

type Provided = [Outbox, Pusher, Batches, DagRegistry, Poller, Database];

describe('outbox: options of the module', () => {
  it('outbox: one outbox is behind all injectables, with the defaults of the specification', async () => {
    const [outbox, ...parts] = await outboxOf(OutboxModule.forRoot({ ...unused, dags: [dag] }));
    expect(outbox.options).toMatchObject({ pollIntervalMs: 300, concurrency: 10, leaseMs: 30_000 });
    const { pusher, batches, registry, poller } = outbox;
    for (const [index, part] of [pusher, batches, registry, poller, unused.database].entries())
      expect(parts[index]).toBe(part);
    expect(registry.names).toEqual(['d']);
  });

  it('outbox: without a database it is embedded; every application that uses a module has its own', async () => {
    const root = OutboxModule.forRoot({ database: { dataDir: '/nowhere' } });
    const databases = [await outboxOf(root), await outboxOf(root)].map((provided) => provided[5]);
    expect(databases[0]).toBeInstanceOf(PgliteDatabase);
    expect(databases[0]).not.toBe(databases[1]);
    expect((await outboxOf(OutboxModule.register()))[5]).toBeInstanceOf(PgliteDatabase);
    expect((await outboxOf(OutboxModule.forRoot({ database: { url: 'postgres://h/d' } })))[5]).toBeInstanceOf(
      PgDatabase,
    );
  });

  it('outbox: forRootAsync takes the options from createOutboxOptions of a class', async () => {
    class Settings {
      createOutboxOptions(): OutboxModuleOptions {
        return { ...QUIET, ...unused, leaseMs: 7_000 };
      }
    }
    const [outbox] = await outboxOf(OutboxModule.forRootAsync({ useClass: Settings }));
    expect(outbox.options.leaseMs).toBe(7_000);
  });

  it.each<[object, string, string]>([
    [{ leaseMs: -1 }, 'OPTION_INVALID', 'leaseMs'],
    [{ leaseMS: 1 }, 'OPTION_UNKNOWN', "did you mean 'leaseMs'?"],
    [{ database: 'postgres://x' }, 'OPTION_INVALID', '{ url } of a PostgreSQL'],
    [{ database: { dataDri: '/x' } }, 'OPTION_UNKNOWN', "did you mean 'dataDir'?"],
    // An address that the environment does not have: not an empty database in memory.
    [{ database: { url: undefined } }, 'OPTION_INVALID', 'url'],
    [{ database: { url: 'postgres://h/d', poolSize: 5 } }, 'OPTION_INVALID', 'concurrency'],
    [{ dags: dag }, 'OPTION_INVALID', 'a list of DAGs'],
    [{ logger: {} }, 'OPTION_INVALID', 'a Logger'],
    [5 as never, 'OPTION_INVALID', 'an object'],
  ])('outbox: refuses the options %j by name', (options, code, message) => {
    expect(() => OutboxModule.forRoot(options)).toThrow(refused(code, message));
  });

  it('outbox: forFeature refuses what is no list', () => {
    expect(() => OutboxModule.forFeature(dag as never)).toThrow(refused('OPTION_INVALID', 'a list of DAGs'));
  });

  it('outbox: a pool that the module makes has room for the handlers, whatever the concurrency is', () => {
    const database = { url: 'postgres://h/d' };
    expect(() => OutboxModule.forRoot({ database, concurrency: 200 })).not.toThrow();
  });

  it('outbox: two outboxes, a feature without one, and a DAG that cannot be used end the start', async () => {
    const twice = [
      OutboxModule.forRoot({ ...QUIET, ...unused }),
      OutboxModule.forRoot({ ...QUIET, ...unused }),
    ];
    await expect(start({ imports: twice })).rejects.toThrow(refused('OPTION_INVALID', 'imported once'));
    await expect(start({ imports: [OutboxModule.forFeature([dag])] })).rejects.toThrow('DagRegistry');
    const circular = defineDag('c', { a: task({ after: ['b'] }), b: task({ after: ['a'] }) });
    await expect(
      start({
        imports: [OutboxModule.forRoot({ ...QUIET, ...unused }), OutboxModule.forFeature([circular])],
      }),
    ).rejects.toThrow(refused('DAG_INVALID'));
    expect(unused.database.state).toBe('IDLE');
  });
});
