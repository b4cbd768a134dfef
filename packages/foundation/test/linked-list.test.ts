import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Linked, LinkedList } from '../src/index.js';

class Item implements Linked<Item> {
  previous: Item | undefined;
  next: Item | undefined;
}
const newItems = (count: number) => Array.from({ length: count }, () => new Item());

it('keeps the order of arrival through any pushes, shifts and removals', () => {
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

it('may lose the current item while it is iterated', () => {
  const [items, list] = [newItems(4), new LinkedList<Item>()];
  for (const item of items) list.push(item);
  const isRemoved = Array.from(list, (item) => list.remove(item));
  expect([isRemoved, list.size]).toEqual([[true, true, true, true], 0]);
});
