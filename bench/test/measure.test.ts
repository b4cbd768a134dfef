import { describe, expect, it } from 'vitest';
import { compare, perOperation, quantile } from '../src/measure.js';

describe('quantile', () => {
  it('interpolates between neighbours and does not mind the order', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([5], 0.25)).toBe(5);
    expect(quantile([1, 2, 3, 4, 5], 0.25)).toBe(2);
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe('compare', () => {
  it('alternates who goes first, after warm-ups that do not count', async () => {
    const order: string[] = [];
    const side = (name: string) => ({
      name,
      sample: async () => {
        order.push(name);
        return 1;
      },
    });
    await compare(side('ours'), side('peer'), 3, 1);
    expect(order).toEqual(['ours', 'peer', 'ours', 'peer', 'peer', 'ours', 'ours', 'peer']);
  });

  it('takes the ratio within each pair and its median: one disturbed pair changes nothing', async () => {
    const costs = { ours: [100, 100, 9000, 100, 100], peer: [200, 200, 200, 200, 220] };
    const side = (name: 'ours' | 'peer') => ({ name, sample: async () => costs[name].shift() ?? 0 });
    const result = await compare(side('ours'), side('peer'), 5, 0);
    expect(result).toMatchObject({ peer: 'peer', pairs: 5, oursCost: 100, peerCost: 200, ratio: 2 });
    expect(result.spread).toBe(0);
  });

  it('perOperation answers nanoseconds per operation', async () => {
    let counted = 0;
    const side = perOperation('x', 1000, async (count) => {
      counted = count;
    });
    expect(await side.sample()).toBeGreaterThan(0);
    expect(counted).toBe(1000);
  });
});
