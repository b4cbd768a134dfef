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
const verbs = fc.constantFrom('put', 'put', 'put', 'remove');
/** Few keys: ties are common. */
const steps = fc.array(fc.tuple(verbs, fc.nat(SIZE_MAX - 1), fc.nat(9)), { maxLength: 200, size: 'max' });

it('IndexedHeap keeps the order and the indexes of its items through any steps, in O(log n) comparisons each', () => {
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

it('IndexedHeap does not take an item of another heap with the same field for its own', () => {
  const [mine, theirs] = [newHeap(), newHeap()];
  const [item, other] = newItems(2) as [Item, Item];
  mine.put(item);
  theirs.put(other);
  theirs.remove(item);
  expect([theirs.has(item), mine.has(item), theirs.size, item.at]).toEqual([false, true, 1, 0]);
});

it('LinkedList keeps the order of arrival through any pushes, shifts and removals', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('push', 'push', 'shift', 'remove'), fc.nat(9)));
  fc.assert(
    fc.property(steps, (all) => {
      const [items, list] = [newItems(10), new LinkedList<Item>()];
      let model: Item[] = [];
      for (const [verb, index] of all) {
        const item = items[index] as Item;
        const isIn = model.includes(item);
        if (verb === 'shift') expect(list.shift()).toBe(model.shift());
        if (verb === 'remove') {
          expect([list.has(item), list.remove(item)]).toEqual([isIn, isIn]);
          model = model.filter((other) => other !== item);
          expect([item.previous, item.next]).toEqual([undefined, undefined]);
        }
        if (verb === 'push' && !isIn) {
          list.push(item);
          model.push(item);
        }
        expect([[...list], list.size, list.first]).toEqual([model, model.length, model[0]]);
      }
    }),
  );
});

it('LinkedList may lose the current item while it is iterated', () => {
  const [items, list] = [newItems(4), new LinkedList<Item>()];
  for (const item of items) list.push(item);
  const isRemoved = Array.from(list, (item) => list.remove(item));
  expect([isRemoved, list.size]).toEqual([[true, true, true, true], 0]);
});
