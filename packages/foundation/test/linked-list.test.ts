import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Linked, LinkedList } from '../src/index.js';

interface Item extends Linked<Item> {
  readonly id: number;
}

const newItems = (count: number): Item[] =>
  Array.from({ length: count }, (_, id) => ({ id, previous: undefined, next: undefined }));

it('keeps the order of arrival through any pushes, shifts and removals', () => {
  const step = fc.record({ verb: fc.constantFrom('push', 'push', 'shift', 'remove'), id: fc.nat(9) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const items = newItems(10);
      const list = new LinkedList<Item>();
      let model: Item[] = [];
      for (const { verb, id } of steps) {
        const item = items[id] as Item;
        if (verb === 'shift') expect(list.shift()).toBe(model.shift());
        else if (verb === 'remove') {
          expect(list.remove(item)).toBe(model.includes(item));
          model = model.filter((other) => other !== item);
        } else if (!model.includes(item)) {
          list.push(item);
          model.push(item);
        }
        expect([...list]).toEqual(model);
        expect([list.size, list.first]).toEqual([model.length, model[0]]);
      }
      for (const item of items) {
        expect(list.has(item)).toBe(model.includes(item));
        if (!model.includes(item)) expect([item.previous, item.next]).toEqual([undefined, undefined]);
      }
    }),
  );
});

it('may lose the current item while it is iterated', () => {
  const list = new LinkedList<Item>();
  for (const item of newItems(4)) list.push(item);
  const seen: number[] = [];
  for (const item of list) {
    seen.push(item.id);
    list.remove(item);
  }
  expect([seen, list.size]).toEqual([[0, 1, 2, 3], 0]);
});
