import { expect, it } from 'vitest';
import { heldRows } from '../../../src/pages/groups/held.js';

it('updates rows without moving them and counts new ones', () => {
  const row = (id: string, done = 0) => ({ id, done });
  const { rows, newer } = heldRows([row('b'), row('a', 1)], [row('d'), row('c'), row('b', 7)]);
  expect(rows).toEqual([row('b', 7), row('a', 1)]);
  expect(newer).toBe(2);
});
