import { describe, expect, it } from 'vitest';
import { Line, type Linked } from '../../src/pool/line.js';

class Item implements Linked<Item> {
  before: Item | undefined = undefined;
  after: Item | undefined = undefined;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A line of three and its items. */
function lineOfThree() {
  const line = new Line<Item>();
  const items = ['a', 'b', 'c'].map((name) => new Item(name)) as [Item, Item, Item];
  for (const item of items) line.add(item);
  return { line, items };
}

const namesOf = (line: Line<Item>) => [...line].map(({ name }) => name);

describe('Line', () => {
  it.each([
    [0, ['b', 'c']],
    [1, ['a', 'c']],
    [2, ['a', 'b']],
  ])('bulk-action BA-5: keeps the order when number %i is taken out, and lets it go', (index, left) => {
    const { line, items } = lineOfThree();
    const item = items[index] as Item;
    line.remove(item);
    expect(namesOf(line)).toEqual(left);
    expect(line.size).toBe(2);
    expect(line.first?.name).toBe(left[0]);
    expect([line.has(item), item.before, item.after]).toEqual([false, undefined, undefined]);
    line.remove(item);
    expect(line.size).toBe(2);
    line.add(item);
    expect(namesOf(line)).toEqual([...left, item.name]);
  });

  it('bulk-action BA-5: is empty and usable again after everything was taken out while it was walked', () => {
    const { line, items } = lineOfThree();
    const seen: string[] = [];
    for (const item of line) {
      seen.push(item.name);
      line.remove(item);
    }
    expect(seen).toEqual(['a', 'b', 'c']);
    expect([line.size, line.first]).toEqual([0, undefined]);
    line.add(items[1]);
    expect(namesOf(line)).toEqual(['b']);
  });
});
