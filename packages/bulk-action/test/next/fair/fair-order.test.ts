import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';

import { FairOrder, type Ordered } from '../../../src/next/engine/state/fair-order.js';

const byStart = (a: Ordered, b: Ordered): number => a.start - b.start || a.number - b.number;

describe('a fair order', () => {
  it('is that of start tags and numbers, whatever comes, moves and leaves', () => {
    const rng = seededRng(7);
    const order = new FairOrder<Ordered>();
    const items: Ordered[] = Array.from({ length: 60 }, (_, number) => ({ start: 0, number, fairAt: -1 }));
    for (let step = 0; step < 3_000; step++) {
      const item = items[Math.floor(rng.next() * items.length)] as Ordered;
      if (rng.next() < 0.3) order.remove(item);
      else {
        // Few tags, so that many are the same.
        item.start = Math.floor(rng.next() * 12) / 4;
        order.put(item);
      }
      const standing = items.filter(({ fairAt }) => fairAt >= 0).sort(byStart);
      expect(order.peek()).toBe(standing[0]);
      expect(order.size).toBe(standing.length);
      expect([...order.items].sort(byStart)).toEqual(standing);
      const count = Math.floor(rng.next() * 70);
      expect(order.first(count)).toEqual(standing.slice(0, count));
    }
  });

  it('leaves alone what stands in another order', () => {
    const [here, there] = [new FairOrder<Ordered>(), new FairOrder<Ordered>()];
    const item = { start: 1, number: 1, fairAt: -1 };
    here.put({ start: 0, number: 0, fairAt: -1 });
    there.put(item);
    here.remove(item);
    expect([here.size, there.peek()]).toEqual([1, item]);
  });
});
