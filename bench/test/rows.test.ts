import { describe, expect, it } from 'vitest';
import type { Row } from '../src/registry.js';
import { runRow } from '../src/rows.js';

const costing = (name: string, cost: number, bar?: number) => ({
  name,
  ...(bar !== undefined && { bar }),
  sample: async () => cost,
});

const row = (ours: number, peers: Row['peers'], given: Partial<Row> = {}): Row => ({
  ...{ work: 'work', unit: 'ns', bar: 1, aim: 2, ours: costing('ours', ours), peers },
  ...given,
});

const OPTIONS = { pairs: 3, warmUps: 0, withNoise: false };
const passes = async (given: Row) => (await runRow(given, OPTIONS)).passed;

describe('runRow', () => {
  it('leaves a twentieth of a bar of 1 to the noise, and nothing of any other', async () => {
    expect(await passes(row(100, [costing('peer', 95)]))).toBe(true);
    expect(await passes(row(100, [costing('peer', 94)]))).toBe(false);
    expect(await passes(row(100, [costing('peer', 149)], { bar: 1.5 }))).toBe(false);
    expect(await passes(row(100, [costing('peer', 150)], { bar: 1.5 }))).toBe(true);
    expect(await passes(row(100, [costing('peer', 39)], { bar: 0.4 }))).toBe(false);
  });

  it('judges each peer by its own bar, and the row by all of them', async () => {
    const peers = [costing('quick', 150), costing('slow', 400, 5)];
    const { comparisons, passed } = await runRow(row(100, peers), OPTIONS);
    expect(comparisons).toMatchObject([
      { peer: 'quick', bar: 1, ratio: 1.5, passed: true },
      { peer: 'slow', bar: 5, ratio: 4, passed: false },
    ]);
    expect(passed).toBe(false);
  });

  it('judges our own cost by its ceiling, however slow the peer is', async () => {
    expect(await passes(row(301, [costing('peer', 9000)], { ceiling: 300 }))).toBe(false);
    expect(await passes(row(300, [costing('peer', 9000)], { ceiling: 300 }))).toBe(true);
  });

  it('compares the first peer with itself, to show the noise', async () => {
    const { noise } = await runRow(row(100, [costing('peer', 200), costing('other', 300)]), {
      ...OPTIONS,
      withNoise: true,
    });
    expect(noise).toMatchObject({ peer: 'peer', oursCost: 200, peerCost: 200, ratio: 1 });
  });
});
