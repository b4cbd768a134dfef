import { describe, expect, it } from 'vitest';
import { defineDag, type TaskDefinition, task } from '../../src/define-dag.js';
import { ERRORS } from '../../src/errors.js';
import { didYouMean, validateDag } from '../../src/rules/validate-dag.js';
import { BAD_DAGS } from '../bad-dags.js';

const run = () => {};
const refusal = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('outbox OB-1: what a DAG must be', () => {
  it.each(BAD_DAGS)('outbox OB-1: $what is refused with the reason', ({ dag, reason }) => {
    const error = refusal(() => validateDag(dag, 1_000));
    expect(error).toMatchObject({
      code: 'DAG_INVALID',
      details: { reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
    });
  });

  it('outbox OB-1: what is no DAG at all is refused like one', () => {
    for (const given of [undefined, null, 5, {}, { name: 'a' }, { name: 'a', tasks: {} }]) {
      expect(
        ERRORS.is(
          refusal(() => validateDag(given as never, 10)),
          'DAG_INVALID',
        ),
      ).toBe(true);
    }
  });

  it('outbox OB-1: names may be long and in any script', () => {
    const [name, key] = ['n'.repeat(100), `${'k'.repeat(196)}.🚚é`];
    const valid = validateDag(defineDag(name, { [key]: task({ run }) }), 1);
    expect(valid).toMatchObject({ name, tasks: [{ key }] });
  });

  it('outbox OB-1: a key that is a member of every object is a key like others', () => {
    const pairs = ['constructor', '__proto__', 'toString'].map((key, place, keys) => {
      return [key, task({ run, after: keys.slice(0, place) })] as const;
    });
    const { tasks } = validateDag(defineDag('dag', pairs), 10);
    expect(tasks.map(({ key }) => key)).toEqual(['constructor', '__proto__', 'toString']);
    const unknown = refusal(() =>
      validateDag(defineDag('dag', { a: task({ run, after: ['valueOf'] }) }), 10),
    );
    expect(ERRORS.is(unknown, 'DAG_INVALID')).toBe(true);
  });

  it('outbox OB-1: gives the tasks in order, with what each needs', () => {
    const { tasks } = validateDag(
      defineDag('dag', {
        end: task({ run, after: ['b', 'a', 'c'], join: { atLeast: 2 } }),
        b: task({ run, after: ['a'], join: 'any' }),
        c: task({ run, after: ['a', 'b'], join: 'all-done' }),
        a: task({ run, mode: 'external', retry: { retries: 0 } }),
      }),
      4,
    );
    expect(tasks.map(({ key, join, needed }) => [key, join, needed])).toEqual([
      ['a', 'all', 0],
      ['b', 'any', 1],
      ['c', 'all-done', 2],
      ['end', 'at-least', 2],
    ]);
  });

  it('outbox OB-4: what was checked does not change with what the user wrote', () => {
    const after = ['a'];
    const pairs: [string, TaskDefinition][] = [
      ['a', task({ run })],
      ['b', { run, after }],
    ];
    const valid = validateDag({ name: 'dag', tasks: pairs }, 10);
    after.push('b');
    pairs.pop();
    expect(valid.tasks.map((each) => [each.key, each.after])).toEqual([
      ['a', []],
      ['b', ['a']],
    ]);
  });

  it('outbox OB-11: refuses more tasks than a batch may have', () => {
    const tasks = { a: task({ run }), b: task({ run }), c: task({ run }) };
    expect(validateDag(defineDag('dag', tasks), 3).tasks).toHaveLength(3);
    const error = refusal(() => validateDag(defineDag('dag', tasks), 2));
    expect(ERRORS.is(error, 'BATCH_TOO_LARGE') && error.message).toBe(
      "The number of tasks of DAG 'dag' is 3, more than the 2 allowed (tasksPerBatchMax)",
    );
  });

  it('outbox OB-11: checks a chain of 100,000, and points at the bad one among them', () => {
    const pairs = Array.from({ length: 100_000 }, (_, i) => {
      return [`task-${i}`, task({ run, after: i === 0 ? [] : [`task-${i - 1}`] })] as const;
    });
    const { tasks } = validateDag(defineDag('chain', pairs), 200_000);
    expect(tasks.at(-1)).toMatchObject({ key: 'task-99999', needed: 1 });

    const ring = pairs.with(0, ['task-0', task({ run, after: ['task-99999'] })]);
    expect(refusal(() => validateDag(defineDag('ring', ring), 200_000))).toMatchObject({
      details: {
        reason: expect.stringContaining(
          'task-0 → task-1 → task-2 → task-3 → task-4 → … (99995 more) → task-0',
        ),
      },
    });
    const lost = pairs.with(99_999, ['task-99999', task({ run, after: ['tusk-0'] })]);
    expect(refusal(() => validateDag(defineDag('lost', lost), 200_000))).toMatchObject({
      details: { reason: "task 'task-99999' is after 'tusk-0', which is not there; did you mean 'task-0'?" },
    });
  });

  it('outbox OB-1: does not compare a long unknown key with a hundred thousand long ones', () => {
    const read: string[] = [];
    function* keys() {
      for (let i = 0; i < 100_000; i++) {
        const key = `${i}`.padStart(200, 'x');
        read.push(key);
        yield key;
      }
    }
    didYouMean('y'.repeat(200), keys());
    expect(read.length).toBeLessThanOrEqual(1_001);
  });
});
