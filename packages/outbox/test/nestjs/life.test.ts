import { type Database, PgliteDatabase } from '@millrace/postgres';
import { latch, pgliteFolder, recordingLogger, until } from '@millrace/testkit';
import { Inject } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/index.js';
import { Batches, OUTBOX_DATABASE, Outbox, OutboxModule, Pusher } from '../../src/nestjs/index.js';
import { embeddedNotice } from '../../src/nestjs/outbox-host.js';
import { type OutboxDatabase, openOutboxDatabase } from '../open-outbox.js';
import { ended, feature, QUIET, refused, start } from './boot.js';

let opened: OutboxDatabase | undefined;
let database: Database;
beforeAll(async () => {
  opened = await openOutboxDatabase();
  database = opened.database;
}, 30_000);
afterAll(() => opened?.[Symbol.asyncDispose]());

describe('outbox: life and end of an application', () => {
  it('outbox OB-3: tasks run after everything has started and end before anything is destroyed; batches can be started from bootstrap to the end', async () => {
    const events: string[] = [];
    const begun = latch('the task runs');
    const mayEnd = latch('the task may end');
    class Store {
      onApplicationBootstrap = () => void events.push('store ready');
      onModuleDestroy = () => void events.push('store gone');
    }
    class Work {
      id = '';
      constructor(readonly pusher: Pusher) {}
      async onApplicationBootstrap(): Promise<void> {
        this.id = (await this.pusher.start('life', 'first')).id;
        events.push('first started');
      }
      async onModuleDestroy(): Promise<void> {
        const { created } = await this.pusher.start('life', 'last');
        events.push(`last started ${created}`);
      }
    }
    Inject(Pusher)(Work, undefined, 0);
    const run = async () => {
      events.push('task begins');
      begun.open();
      await mayEnd.promise;
      events.push('task ends');
    };
    const dags = [defineDag('life', { only: task({ mode: 'external', run }) })];
    const app = await start({
      imports: [
        OutboxModule.forRoot({ ...QUIET, database, schema: 'order', dags }),
        feature('StoreModule', { providers: [Store] }),
      ],
      providers: [Work],
    });
    await begun.wait();
    const closing = app.close();
    await until(() => app.get(Outbox).state === 'STOPPING', { what: 'the end to begin' });
    mayEnd.open();
    await closing;
    expect(events).toEqual([
      'store ready',
      'first started',
      'task begins',
      'task ends',
      'last started true',
      'store gone',
    ]);
    // Its Database is the application's, and goes on.
    expect(await app.get(Batches).get(app.get(Work).id)).toMatchObject({ dag: 'life' });
    expect(await app.get(Batches).backlog()).toMatchObject({ ready: 1 });
  });
});

describe('outbox: a database that the module opens', () => {
  it('outbox: an embedded one is migrated at the start, says what it does not survive, and is closed again, also when the start fails', async () => {
    using folder = await pgliteFolder(async (dataDir) => {
      await using made = new PgliteDatabase({ dataDir });
      await made.start();
    });
    const { log: logger, lines } = recordingLogger();
    const own = { database: { dataDir: folder.dataDir }, logger, pollIntervalMs: 20 };
    const dags = [defineDag('d', { only: task({ run: () => 'done' }) })];
    const unbound = [defineDag('u', { only: task({}) })];
    await expect(start({ imports: [OutboxModule.forRoot({ ...own, dags: unbound })] })).rejects.toThrow(
      refused('DAG_INVALID', 'nothing runs'),
    );
    const app = await start({ imports: [OutboxModule.forRoot({ ...own, dags })] });
    const { id } = await app.get(Pusher).start('d', 'day');
    expect(await ended(app.get(Batches), id)).toMatchObject({ status: 'DONE' });
    await app.close();
    await expect(app.get<Database>(OUTBOX_DATABASE).query('SELECT 1')).rejects.toThrow(
      refused('SERVICE_STOPPED'),
    );
    const warnings = lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/does not fsync.*one session.*one at a time.*no other process/);
  }, 60_000);

  it('outbox: one in memory says that it ends with the process', () => {
    expect(embeddedNotice(new PgliteDatabase())).toContain('in memory and ends with this process');
  });
});
