import { expect, expectTypeOf, it } from 'vitest';
import { defineDag, type TaskContext, task } from '../src/define-dag.js';

type Inputs = Readonly<Record<string, unknown>>;

it('payload and inputs of which nothing is said are unknown, inside a DAG too', () => {
  const { tasks } = defineDag('day', {
    load: task({ run: ({ payload }) => expectTypeOf(payload).toBeUnknown() }),
    sum: task({
      after: ['load'],
      when: (inputs) => Array.isArray(inputs.load),
      run: ({ inputs, tx }) => {
        expectTypeOf(inputs).toEqualTypeOf<Inputs>();
        return tx.query('SELECT $1', [JSON.stringify(inputs.load)]);
      },
    }),
    mail: task({
      mode: 'external',
      run: ({ payload, inputs }) => {
        expectTypeOf(payload).toBeUnknown();
        expectTypeOf(inputs.sum).toBeUnknown();
      },
    }),
    // @ts-expect-error nobody has said that it is a list.
    wrong: task({ run: ({ inputs }) => inputs.load.length }),
    // @ts-expect-error no transaction is open while other systems are called.
    outside: task({ mode: 'external', run: ({ tx }) => tx }),
  });
  expect(tasks).toHaveLength(5);
});

it('a task says what its payload and inputs are, by its types or by those of its handler', () => {
  const add = ({ inputs: { load }, payload }: TaskContext<string, { load: number[] }>) =>
    load.length + payload;
  const { tasks } = defineDag('day', [
    ['load', task<string>({ run: ({ payload }) => [payload.length] })],
    ['sum', task<unknown, { load: number[] }>({ after: ['load'], run: ({ inputs }) => inputs.load.length })],
    ['add', task({ after: ['load'], mode: 'external', run: add })],
  ]);
  expect(tasks).toHaveLength(3);
});
