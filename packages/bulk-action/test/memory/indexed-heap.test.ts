import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexedHeap } from '../../src/memory/indexed-heap.js';

interface Item {
  readonly id: number;
  key: number;
  at: number;
}

const before = (a: Item, b: Item): boolean => a.key < b.key || (a.key === b.key && a.id < b.id);
const newHeap = () => new IndexedHeap<Item, 'at'>('at', before);
const byOrder = (a: Item, b: Item): number => (before(a, b) ? -1 : 1);

const POOL = 24;
const newPool = (): Item[] => Array.from({ length: POOL }, (_, id) => ({ id, key: 0, at: -1 }));

/** Puts an item of the pool in or moves it, or takes it or the least out. Few keys: ties are common. */
const steps = fc.array(
  fc.record({
    verb: fc.constantFrom('put', 'put', 'put', 'remove', 'least'),
    id: fc.nat(POOL - 1),
    key: fc.nat(9),
  }),
  { maxLength: 200, size: 'max' },
);

/** All that is wrong with it, in one list: asserting each by itself would take seconds. */
function flawsOf(heap: IndexedHeap<Item, 'at'>, pool: readonly Item[], model: ReadonlySet<Item>): unknown[] {
  const least = [...model].reduce<Item | undefined>((a, b) => (a && before(a, b) ? a : b), undefined);
  return [
    ...(heap.size === model.size && heap.peek() === least ? [] : [{ size: heap.size, first: heap.peek() }]),
    // A slip deep in the tree may not show at the top for long.
    ...heap.items.filter((item, at) => at > 0 && before(item, heap.items[(at - 1) >> 1] as Item)),
    ...pool.filter((item) => heap.has(item) !== model.has(item)),
    ...pool.filter((item) => (model.has(item) ? heap.items[item.at] !== item : item.at !== -1)),
  ];
}

describe('bulk-action BA-1: a heap whose items know their place', () => {
  it('bulk-action BA-1: after any steps the least comes first, every item knows its place, and no other is in', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const heap = newHeap();
        const pool = newPool();
        const model = new Set<Item>();
        for (const { verb, id, key } of list) {
          const item = verb === 'least' ? heap.peek() : (pool[id] as Item);
          if (!item) continue;
          if (verb === 'put') {
            item.key = key;
            heap.put(item);
            model.add(item);
          } else {
            heap.remove(item);
            model.delete(item);
          }
          expect(flawsOf(heap, pool, model)).toEqual([]);
        }
        const sorted = [...model].sort(byOrder);
        for (const count of [0, 1, 5, POOL]) expect(heap.first(count)).toEqual(sorted.slice(0, count));
        const drained: Item[] = [];
        for (let item = heap.peek(); item; item = heap.peek()) {
          drained.push(item);
          heap.remove(item);
        }
        expect(drained).toEqual(sorted);
      }),
    );
  });

  it('bulk-action BA-1: an item of one heap is not in another of the same field', () => {
    const [mine, theirs] = [newHeap(), newHeap()];
    const [item, other] = newPool() as [Item, Item];
    mine.put(item);
    theirs.put(other);
    expect(theirs.has(item)).toBe(false);
    theirs.remove(item);
    expect([mine.has(item), theirs.size, item.at]).toEqual([true, 1, 0]);
  });

  it('bulk-action BA-1: adding, moving and taking cost O(log n) comparisons', () => {
    const size = 100_000;
    let comparisons = 0;
    const heap = new IndexedHeap<Item, 'at'>('at', (a, b) => {
      comparisons += 1;
      return before(a, b);
    });
    const items = Array.from({ length: size }, (_, id): Item => ({ id, key: (id * 7919) % size, at: -1 }));
    for (const item of items) heap.put(item);
    const depth = Math.ceil(Math.log2(size));
    const costOf = (act: () => void): number => {
      comparisons = 0;
      act();
      return comparisons;
    };
    for (const item of items.slice(0, 1000)) {
      item.key = (item.key * 31) % size;
      expect(costOf(() => heap.put(item))).toBeLessThanOrEqual(2 * depth + 2);
    }
    for (const item of items.slice(0, 1000))
      expect(costOf(() => heap.remove(item))).toBeLessThanOrEqual(2 * depth + 2);
  });
});
