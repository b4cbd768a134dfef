import { expect, it } from 'vitest';
import { defineDag, type TransactionalContext, task } from '../../../src/index.js';
import { Batches, OutboxModule, OutboxTask, Pusher } from '../../../src/nestjs/index.js';
import { openOutboxDatabase, postgresPlace } from '../../open-outbox.js';
import { boot, ended, QUIET, refused } from '../boot.js';

class Ledger {
  readonly #factor = 2;

  @OutboxTask('settle', 'total')
  async total({ payload }: TransactionalContext<{ amount: number }>): Promise<number> {
    return payload.amount * this.#factor;
  }
}

it('outbox: @OutboxTask works under standard rules', async () => {
  await using opened = await openOutboxDatabase(postgresPlace);
  const { database, schema } = opened;
  const dags = [defineDag('settle', { total: task({}) })];
  const app = await boot({
    imports: [OutboxModule.forRoot({ ...QUIET, database, schema, dags })],
    providers: [Ledger],
  });
  const { id } = await app.get(Pusher).start('settle', 'day', { amount: 21 });
  await ended(app.get(Batches), id);
  expect((await app.get(Batches).task(id, 'total')).result).toBe(42);
  await app.close();
});

it('outbox: under standard rules static and private methods, fields and getters are refused', () => {
  const mark = OutboxTask('d', 'k') as (target: unknown, context: DecoratorContext) => void;
  const context = (given: object) => ({
    kind: 'method',
    name: 'run',
    static: false,
    private: false,
    ...given,
  });
  const refusals: [object, string][] = [
    [{ static: true }, 'static'],
    [{ private: true, name: '#run' }, 'private'],
    [{ kind: 'field' }, 'the field run'],
    [{ kind: 'getter' }, 'the getter run'],
    [{ kind: 'class', name: 'Ledger' }, 'the class Ledger'],
  ];
  for (const [given, message] of refusals)
    expect(() => mark(() => 1, context(given) as DecoratorContext)).toThrow(
      refused('OPTION_INVALID', message),
    );
});
