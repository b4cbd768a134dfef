import type { Database } from '@millrace/postgres';
import { Inject, Scope } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, type TaskContext, type TransactionalContext, task } from '../../src/index.js';
import { Batches, OutboxModule, OutboxTask, Pusher } from '../../src/nestjs/index.js';
import { type OutboxDatabase, openOutboxDatabase } from '../open-outbox.js';
import { boot, ended, feature, QUIET, refused, start } from './boot.js';

/** Applies a legacy decorator by hand, as tsc would. */
function decorate(
  type: abstract new (...args: never[]) => object,
  method: string,
  ...marks: [string, string][]
) {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method) as PropertyDescriptor;
  for (const [dag, key] of marks) OutboxTask(dag, key)(type.prototype, method, descriptor);
  Object.defineProperty(type.prototype, method, descriptor);
}

let opened: OutboxDatabase | undefined;
let database: Database;
beforeAll(async () => {
  opened = await openOutboxDatabase();
  database = opened.database;
}, 30_000);
afterAll(() => opened?.[Symbol.asyncDispose]());

/** A handler for one task; a new class for each call. */
function handlerOf(...marks: [string, string][]) {
  class Handler {
    readonly seen: unknown[] = [];

    run({ taskKey, payload }: TaskContext): { ran: string } {
      this.seen.push([taskKey, payload]);
      return { ran: taskKey };
    }
  }
  decorate(Handler, 'run', ...marks);
  return Handler;
}

describe('outbox: @OutboxTask', () => {
  it('outbox: methods of providers in several modules run the tasks of DAGs from the root and from features', async () => {
    await database.query('CREATE TABLE entry (key text, amount int)');
    class Rates {
      readonly vat = 20;
    }
    class Ledger {
      constructor(readonly rates: Rates) {}

      async book({ tx, payload, taskKey }: TransactionalContext<{ amount: number }>): Promise<number> {
        const amount = payload.amount * this.rates.vat;
        await tx.query('INSERT INTO entry VALUES ($1, $2)', [taskKey, amount]);
        return amount;
      }
    }
    Inject(Rates)(Ledger, undefined, 0);
    decorate(Ledger, 'book', ['settle', 'book']);
    const Mail = handlerOf(['settle', 'mail'], ['remind', 'mail']);
    const settle = defineDag('settle', {
      book: task({}),
      mail: task({ after: ['book'], mode: 'external' }),
      check: task({ after: ['mail'], run: ({ inputs }) => inputs }),
    });
    const app = await boot({
      imports: [
        OutboxModule.forRoot({ ...QUIET, database, schema: 'several', dags: [settle] }),
        feature('LedgerModule', { providers: [Ledger, Rates, { provide: 'alias', useExisting: Ledger }] }),
        feature('MailModule', {
          imports: [OutboxModule.forFeature([defineDag('remind', { mail: task({}) }), settle])],
          providers: [Mail],
        }),
      ],
    });
    const [pusher, batches] = [app.get(Pusher), app.get(Batches)];
    const day = await pusher.start('settle', 'day-1', { amount: 3 });
    const reminder = await pusher.start('remind', 'ada', 'hello');
    expect(await ended(batches, day.id)).toMatchObject({ status: 'DONE' });
    expect(await ended(batches, reminder.id)).toMatchObject({ status: 'DONE' });
    expect((await batches.task(day.id, 'check')).result).toEqual({ mail: { ran: 'mail' } });
    expect((await batches.task(day.id, 'book')).result).toBe(60);
    expect((await database.query('SELECT * FROM entry')).rows).toEqual([{ key: 'book', amount: 60 }]);
    expect(app.get(Mail, { strict: false }).seen).toEqual(
      expect.arrayContaining([
        ['mail', { amount: 3 }],
        ['mail', 'hello'],
      ]),
    );
  });

  it('outbox: a subclass has the handlers it inherits, and its own in the place of those it overrides', async () => {
    class Base {
      one = () => 'a field is no method';
      a(): string {
        return 'base a';
      }
      b(): string {
        return 'base b';
      }
      get trap(): never {
        throw new Error('nobody asked for it');
      }
    }
    decorate(Base, 'a', ['sub', 'a']);
    decorate(Base, 'b', ['sub', 'b']);
    class Sub extends Base {
      override b(): string {
        return 'sub b';
      }
    }
    decorate(Sub, 'b', ['sub', 'b']);
    const dags = [defineDag('sub', { a: task({}), b: task({}) })];
    const app = await boot({
      imports: [OutboxModule.forRoot({ ...QUIET, database, schema: 'sub', dags })],
      controllers: [Sub],
    });
    const { id } = await app.get(Pusher).start('sub', 'k');
    await ended(app.get(Batches), id);
    const { items } = await app.get(Batches).tasks(id);
    expect(items.map(({ result }) => result).toSorted()).toEqual(['base a', 'sub b']);
  });
});

describe('outbox: handlers that are refused', () => {
  const settle = defineDag('settle', { total: task({}), own: task({ run: () => 1 }) });
  const root = (dags = [settle]) => OutboxModule.forRoot({ ...QUIET, database, schema: 'refused', dags });
  const One = handlerOf(['settle', 'total']);

  it.each([
    ['a task that the DAG has not', [handlerOf(['settle', 'totl'])], "did you mean 'total'?"],
    ['a DAG that nobody brings', [handlerOf(['setle', 'total'])], 'Handler.run of Root is for its task'],
    ['a task with a run of its own', [handlerOf(['settle', 'own'])], '(Handler.run of Root)'],
    ['one task twice', [One, handlerOf(['settle', 'total'])], 'Handler.run of Root and Handler.run of Root'],
    ['one task twice on one method', [handlerOf(['settle', 'total'], ['settle', 'total'])], 'two handlers'],
    ['no method for a task', [], 'nothing runs its task total'],
  ])('outbox: %s ends the start, and the message says where to look', async (_, providers, message) => {
    await expect(start({ imports: [root()], providers })).rejects.toThrow(refused('DAG_INVALID', message));
    // The Database is the application's: a start that failed has not stopped it.
    expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it.each([
    ['request', Scope.REQUEST],
    ['use', Scope.TRANSIENT],
  ])('outbox: a provider made per %s ends the start', async (_, scope) => {
    await expect(
      start({ imports: [root()], providers: [{ provide: One, useClass: One, scope }] }),
    ).rejects.toThrow(
      refused('OPTION_INVALID', 'Handler.run must be a method of a provider with one instance'),
    );
  });

  it('outbox: the decorator refuses bad names, and everything but a method', () => {
    const at = OutboxTask('d', 'k') as (...args: unknown[]) => void;
    class Handler {
      static run(): void {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Handler, 'run');
    expect(() => OutboxTask('', 'k')).toThrow(refused('OPTION_INVALID', 'dag'));
    expect(() => OutboxTask('d', 5 as never)).toThrow(refused('OPTION_INVALID', 'key'));
    expect(() => at(Handler)).toThrow(refused('OPTION_INVALID', 'a class'));
    expect(() => at(Handler, 'run', descriptor)).toThrow(refused('OPTION_INVALID', 'static'));
    expect(() => at({}, 'field', undefined)).toThrow(refused('OPTION_INVALID', 'field'));
    expect(() => at({}, 'getter', { get: () => 1 })).toThrow(refused('OPTION_INVALID', 'getter'));
  });
});
