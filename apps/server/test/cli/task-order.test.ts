import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOrderOfTheDag } from '../../src/cli/commands/batches/task-order.js';

const tasks = (...keys: string[]) => keys.map((key) => ({ key }));
const keysOf = (ordered: readonly { readonly key: string }[]) => ordered.map(({ key }) => key).join(' ');

describe('inOrderOfTheDag', () => {
  it('puts each task behind what it waits for, else leaves the order', () => {
    expect(
      keysOf(
        inOrderOfTheDag(tasks('d', 'c', 'b', 'a', 'x'), [
          ['a', 'b'],
          ['a', 'c'],
          ['b', 'd'],
          ['c', 'd'],
        ]),
      ),
    ).toBe('a x b c d');
    expect(keysOf(inOrderOfTheDag(tasks('b', 'a'), []))).toBe('b a');
  });

  it('loses no task, whatever a server says of them', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'not there', '__proto__');
    fc.assert(
      fc.property(fc.array(fc.tuple(key, key), { maxLength: 20 }), (edges) => {
        const given = tasks('a', 'b', 'c', 'd', '__proto__');
        expect(new Set(inOrderOfTheDag(given, edges))).toEqual(new Set(given));
        expect(inOrderOfTheDag(given, edges)).toHaveLength(given.length);
      }),
    );
  });
});
