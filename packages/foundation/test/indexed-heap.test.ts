import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IndexedHeap } from '../src/index.js';

interface Item {
  readonly id: number;
  key: number;
  at: number;
}

const before = (a: Item, b: Item): boolean => a.key < b.key || (a.key === b.key && a.id < b.id);
const newItems = (count: number): Item[] =>
  Array.from({ length: count }, (_, id) => ({ id, key: 0, at: -1 }));
const sorted = (items: Iterable<Item>) => [...items].sort((a, b) => (before(a, b) ? -1 : 1));

/** Few keys: ties are common. */
const steps = fc.array(
  fc.record({
    verb: fc.constantFrom('put', 'put', 'put', 'remove', 'least'),
    id: fc.nat(23),
    key: fc.nat(9),
  }),
  { maxLength: 200, size: 'max' },
);

it('keeps the order and the indexes of its items through any steps', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const heap = new IndexedHeap<Item, 'at'>('at', before);
      const items = newItems(24);
      const model = new Set<Item>();
      for (const { verb, id, key } of list) {
        const item = verb === 'least' ? heap.peek() : (items[id] as Item);
        if (!item) continue;
        if (verb === 'put') {
          item.key = key;
          heap.put(item);
          model.add(item);
        } else {
          heap.remove(item);
          model.delete(item);
        }
        // All flaws in one assertion: one for each item would take seconds. Deep ones may not show at the top for long.
        const misplaced = heap.items.filter(
          (it, at) => at > 0 && before(it, heap.items[(at - 1) >> 1] as Item),
        );
        const lost = items.filter((it) =>
          model.has(it) ? heap.items[it.at] !== it : it.at !== -1 || heap.has(it),
        );
        expect([misplaced, lost, heap.size, heap.peek()]).toEqual([[], [], model.size, sorted(model)[0]]);
      }
      for (const count of [0, 1, 5, 24]) expect(heap.first(count)).toEqual(sorted(model).slice(0, count));
    }),
  );
});

it('does not take an item of another heap with the same field for its own', () => {
  const [mine, theirs] = [
    new IndexedHeap<Item, 'at'>('at', before),
    new IndexedHeap<Item, 'at'>('at', before),
  ];
  const [item, other] = newItems(2) as [Item, Item];
  mine.put(item);
  theirs.put(other);
  theirs.remove(item);
  expect([theirs.has(item), mine.has(item), theirs.size, item.at]).toEqual([false, true, 1, 0]);
});

it('moves and removes with O(log n) comparisons', () => {
  const size = 100_000;
  let comparisons = 0;
  const heap = new IndexedHeap<Item, 'at'>('at', (a, b) => {
    comparisons += 1;
    return before(a, b);
  });
  const items = newItems(size);
  for (const item of items) {
    item.key = (item.id * 7919) % size;
    heap.put(item);
  }
  for (const act of [(item: Item) => heap.put(item), (item: Item) => heap.remove(item)])
    for (const item of items.slice(0, 1000)) {
      comparisons = 0;
      item.key = (item.key * 31) % size;
      act(item);
      expect(comparisons).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(size)) + 2);
    }
});
