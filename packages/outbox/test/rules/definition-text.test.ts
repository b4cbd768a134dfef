import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineDag, type TaskDefinition, task } from '../../src/define-dag.js';
import { definitionText } from '../../src/rules/definition-text.js';
import { validateDag } from '../../src/rules/validate-dag.js';

const run = () => {};
const textOf = (
  tasks: Readonly<Record<string, TaskDefinition>> | Iterable<readonly [string, TaskDefinition]>,
) => definitionText(validateDag(defineDag('dag', tasks), 1_000));

const PAIRS: readonly (readonly [string, TaskDefinition])[] = [
  ['a', task({ run })],
  ['b', task({ run, after: ['a'], timeoutMs: 5 })],
  ['c', task({ run, after: ['a'], when: () => true })],
  ['d', task({ run, after: ['a', 'b', 'c'], join: { atLeast: 2 } })],
];

describe('outbox OB-4: the text a definition is known by', () => {
  it('outbox OB-4: does not depend on the order in which tasks and their parents are written, nor on functions', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...PAIRS], { minLength: 4, maxLength: 4 }),
        fc.shuffledSubarray(['a', 'b', 'c'], { minLength: 3, maxLength: 3 }),
        (pairs, after) => {
          const other = task({ after, join: { atLeast: 2 }, run: () => 'another function' });
          const written = pairs.map(([key, definition]) => [key, key === 'd' ? other : definition] as const);
          expect(textOf(written)).toBe(textOf(PAIRS));
        },
      ),
    );
  });

  it('outbox OB-4: says the same for a default that is given and one that is not', () => {
    const given = task({
      run,
      after: [],
      join: 'all',
      mode: 'transactional',
      onFailure: 'fail',
      timeoutMs: 30_000,
      backoffMs: 1_000,
      retry: { retries: 4 },
    });
    expect(textOf({ a: given })).toBe(textOf({ a: task({ run }) }));
  });

  it('outbox OB-4: differs for everything that is stored', () => {
    const root = task({ run });
    const child = { run, after: ['a', 'b'] };
    const variants: readonly TaskDefinition[] = [
      task(child),
      task({ ...child, after: ['a'] }),
      task({ ...child, after: ['b'] }),
      task({ ...child, join: 'any' }),
      task({ ...child, join: 'all-done' }),
      task({ ...child, join: { atLeast: 1 } }),
      task({ ...child, join: { atLeast: 2 } }),
      task({ ...child, mode: 'external' }),
      task({ ...child, onFailure: 'skip' }),
      task({ ...child, onFailure: 'continue' }),
      task({ ...child, when: () => true }),
      task({ ...child, timeoutMs: 29_999 }),
      task({ ...child, retry: { retries: 3 } }),
      task({ ...child, backoffMs: 999 }),
    ];
    const texts = [
      ...variants.map((c) => textOf({ a: root, b: root, c })),
      textOf({ a: root, b: root }),
      textOf({ a: root, b: root, d: task(child) }),
    ];
    expect(new Set(texts).size).toBe(texts.length);
  });
});
