import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IndexedHeap, type Linked, LinkedList } from '../src/index.js';

/** An item of a list or of a heap. */
interface Item extends Linked<Item> {
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
  Array.from({ length: count }, (_, id) => ({ id, key: 0, at: -1, previous: undefined, next: undefined }));

const SIZE_MAX = 24;
/** Steps with one of the items each. Few keys: ties are common. */
const stepsOf = (...verbs: readonly string[]) =>
  fc.array(fc.tuple(fc.constantFrom(...verbs), fc.nat(SIZE_MAX - 1), fc.nat(9)), {
    maxLength: 200,
    size: 'max',
  });

it('IndexedHeap keeps the order and the indexes of its own items through any steps, in O(log n) comparisons', () => {
  fc.assert(
    fc.property(stepsOf('put', 'put', 'put', 'remove'), (steps) => {
      const [heap, items, model] = [newHeap(), newItems(SIZE_MAX), new Set<Item>()];
      // Its items have the same field.
      const another = newHeap();
      another.put(...(newItems(1) as [Item]));
      for (const [verb, id, key] of steps) {
        const item = items[id] as Item;
        another.remove(item);
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
        const above = (at: number) => heap.items[(at - 1) >> 1] as Item;
        // One assertion for all flaws: one for each item would take seconds. Deep ones may not show at the top for long.
        const unsorted = heap.items.filter((it, at) => at > 0 && before(it, above(at)));
        const unplaced = items.filter((it) => heap.items.indexOf(it) !== it.at);
        const unknown = items.filter((it) => heap.has(it) !== model.has(it));
        expect([unsorted, unplaced, unknown, isQuick]).toEqual([[], [], [], true]);
        expect([heap.size, another.has(item), another.size]).toEqual([model.size, false, 1]);
      }
      const sorted = [...model].sort((a, b) => (before(a, b) ? -1 : 1));
      expect(heap.peek()).toBe(sorted[0]);
      for (const count of [0, 1, 5, SIZE_MAX]) expect(heap.first(count)).toEqual(sorted.slice(0, count));
    }),
  );
});

it('LinkedList keeps the order of arrival through any pushes, shifts and removals, also while it is iterated', () => {
  fc.assert(
    fc.property(stepsOf('push', 'push', 'shift', 'remove'), (steps) => {
      const [items, list, model] = [newItems(SIZE_MAX), new LinkedList<Item>(), new Set<Item>()];
      for (const [verb, id] of steps) {
        const item = items[id] as Item;
        const [first] = model;
        if (verb === 'shift') {
          expect(list.shift()).toBe(first);
          model.delete(first as Item);
        } else if (verb === 'remove') {
          expect([list.has(item), list.remove(item)]).toEqual([model.has(item), model.delete(item)]);
          expect([item.previous, item.next]).toEqual([undefined, undefined]);
        } else if (!model.has(item)) {
          list.push(item);
          model.add(item);
        }
        const expected = [...model];
        expect([[...list], list.size, list.first]).toEqual([expected, expected.length, expected[0]]);
      }
      expect(Array.from(list, (item) => list.remove(item))).toEqual(Array.from(model, () => true));
    }),
  );
});
