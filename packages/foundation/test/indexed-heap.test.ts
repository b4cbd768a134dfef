import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IndexedHeap } from '../src/index.js';

interface Item {
  readonly id: number;
  key: number;
  at: number;
}

let comparisons = 0;
const before = (a: Item, b: Item): boolean => {
  comparisons += 1;
  return a.key < b.key || (a.key === b.key && a.id < b.id);
};
const newHeap = () => new IndexedHeap<Item, 'at'>('at', before);
const newItems = (count: number): Item[] =>
  Array.from({ length: count }, (_, id) => ({ id, key: 0, at: -1 }));

const SIZE_MAX = 24;
const verbs = fc.constantFrom('put', 'put', 'put', 'remove');
/** Few keys: ties are common. */
const steps = fc.array(fc.tuple(verbs, fc.nat(SIZE_MAX - 1), fc.nat(9)), { maxLength: 200, size: 'max' });

it('keeps the order and the indexes of its items through any steps, in O(log n) comparisons each', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const [heap, items, model] = [newHeap(), newItems(SIZE_MAX), new Set<Item>()];
      for (const [verb, id, key] of list) {
        const item = items[id] as Item;
        comparisons = 0;
        if (verb === 'put') {
          item.key = key;
          heap.put(item);
          model.add(item);
        } else {
          heap.remove(item);
          model.delete(item);
        }
        const isQuick = comparisons <= 2 * Math.ceil(Math.log2(heap.size + 1));
        // One assertion for all flaws: one for each item would take seconds. Deep ones may not show at the top for long.
        const unsorted = heap.items.filter(
          (it, at) => at > 0 && before(it, heap.items[(at - 1) >> 1] as Item),
        );
        const unplaced = items.filter((it) => (model.has(it) ? heap.items[it.at] !== it : it.at !== -1));
        expect([unsorted, unplaced, heap.size, isQuick]).toEqual([[], [], model.size, true]);
      }
      const sorted = [...model].sort((a, b) => (before(a, b) ? -1 : 1));
      expect(heap.peek()).toBe(sorted[0]);
      for (const count of [0, 1, 5, SIZE_MAX]) expect(heap.first(count)).toEqual(sorted.slice(0, count));
    }),
  );
});

it('does not take an item of another heap with the same field for its own', () => {
  const [mine, theirs] = [newHeap(), newHeap()];
  const [item, other] = newItems(2) as [Item, Item];
  mine.put(item);
  theirs.put(other);
  theirs.remove(item);
  expect([theirs.has(item), mine.has(item), theirs.size, item.at]).toEqual([false, true, 1, 0]);
});
