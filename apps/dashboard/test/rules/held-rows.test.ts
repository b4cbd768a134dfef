import { expect, it } from 'vitest';
import { heldRows } from '../../src/rules/held-rows.js';

it('keeps rows in their places with what is known of them now', () => {
  const row = (id: string, done = 0) => ({ id, done });
  const { rows, newer } = heldRows([row('b'), row('a', 1)], [row('d'), row('c'), row('b', 7)]);
  expect(rows).toEqual([row('b', 7), row('a', 1)]);
  expect(newer).toBe(2);
});
