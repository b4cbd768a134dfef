import { describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import { DagRegistry } from '../../src/registry.js';
import { definitionText } from '../../src/rules/definition-text.js';
import { readDagData } from '../../src/rules/read-dag-data.js';
import { validateDag } from '../../src/rules/validate-dag.js';

const run = () => {};
const CODE = defineDag('orders', {
  book: task({ run, timeoutMs: 7, backoffMs: 3, retry: { retries: 9 }, onFailure: 'skip' }),
  mail: task({ run, mode: 'external', after: ['book'], when: () => true }),
});
const registry = new DagRegistry({ save: async () => 1 });
registry.add(CODE);
const read = (given: unknown, tasksMax = 20_000) => readDagData(given, registry, tasksMax);
const reasonOf = (given: unknown): string => {
  try {
    read(given);
  } catch (error) {
    return String((error as Error).message).replace(/^.*cannot be used: /, '');
  }
  return 'accepted';
};

describe('outbox: a DAG as data', () => {
  it('is the same definition as the code it describes, and another one with other handlers', () => {
    const same = read({
      name: 'orders',
      tasks: { mail: { after: ['book'] }, book: { onFailure: 'skip' } },
    });
    expect(definitionText(same)).toBe(definitionText(validateDag(CODE, 10)));
    const swapped = { book: { handler: 'orders.book' }, mail: { handler: 'orders.mail', after: ['book'] } };
    const texts = ['orders', 'others'].map((name) => definitionText(read({ name, tasks: swapped })));
    expect(texts[0]).not.toBe(texts[1]);
  });

  it('has the settings of its handlers, but for its wiring and what it says itself', () => {
    const { tasks } = read({
      name: 'others',
      tasks: {
        a: { handler: 'orders.book' },
        b: {
          handler: 'orders.mail',
          after: ['a'],
          join: 'any',
          mode: 'external',
          timeoutMs: 5,
          retries: 0,
          backoffMs: 0,
        },
      },
    });
    expect(tasks).toMatchObject([
      {
        key: 'a',
        handler: 'orders.book',
        mode: 'transactional',
        timeoutMs: 7,
        backoffMs: 3,
        onFailure: 'fail',
      },
      { key: 'b', handler: 'orders.mail', mode: 'external', join: 'any', timeoutMs: 5, backoffMs: 0 },
    ]);
    expect(tasks.map(({ retry, when }) => [retry.retries, typeof when])).toEqual([
      [9, 'undefined'],
      [0, 'function'],
    ]);
  });

  it('is refused with what is wrong', () => {
    const one = (given: unknown) => ({ name: 'x', tasks: { a: given } });
    const book = { handler: 'orders.book' };
    const cases: readonly (readonly [given: unknown, reason: RegExp])[] = [
      [undefined, /must be an object with name and tasks/],
      [[], /must be an object/],
      [{ name: 'a.b', tasks: { a: book } }, /its name must be/],
      [{ name: 'x' }, /its tasks must be an object by key/],
      [{ name: 'x', tasks: [book] }, /its tasks must be an object by key/],
      [{ name: 'x', task: {}, tasks: { a: book } }, /has 'task', which is not known; did you mean 'tasks'\?/],
      [one(null), /task 'a' must be an object, got null/],
      [one({ handler: 7 }), /the handler of task 'a' must be the name of one, got 7/],
      [one({ handler: 'orders.bok' }), /did you mean 'orders.book'\?/],
      [one({ handler: 'nothing at all' }), /a handler is named dag.key/],
      [one({ ...book, run: 'rm -rf' }), /task 'a' has 'run', which is not known/],
      [one({ ...book, timeOutMs: 1 }), /did you mean 'timeoutMs'\?/],
      [one({ ...book, timeoutMs: null }), /timeoutMs/],
      [one({ ...book, retries: '3' }), /retries/],
      [one({ ...book, after: ['b'] }), /after 'b', which is not there/],
      [one({ ...book, mode: 'external' }), /is 'external', but its handler 'orders.book' is transactional/],
    ];
    for (const [given, reason] of cases) expect(reasonOf(given)).toMatch(reason);
    expect(() => read({ name: 'x', tasks: { a: book, b: book } }, 1)).toThrow('more than the 1 allowed');
  });

  it('may have keys that objects have anyway, and nothing comes of it', () => {
    const given = JSON.parse(
      '{"name":"__proto__","tasks":{"__proto__":{"handler":"orders.book"},"constructor":{"handler":"orders.mail","after":["__proto__"]}}}',
    );
    expect(read(given).tasks.map(({ key, after }) => [key, after])).toEqual([
      ['__proto__', []],
      ['constructor', ['__proto__']],
    ]);
    const polluting = JSON.parse(
      '{"name":"x","tasks":{"a":{"handler":"orders.book","__proto__":{"timeoutMs":1}}}}',
    );
    expect(reasonOf(polluting)).toMatch(/task 'a' has '__proto__', which is not known/);
    expect(reasonOf(JSON.parse('{"name":"x","__proto__":{"tasks":{}},"tasks":{}}'))).toMatch(
      /has '__proto__'/,
    );
    expect(reasonOf({ name: 'x', tasks: { a: { handler: 'toString.call' } } })).toMatch(/does not have/);
  });
});
