import { describe, expect, it } from 'vitest';
import { type DagLayout, layOut, linePath } from '../../src/rules/dag-layout.js';
import { type DagEdge, edgeName, ranksOf } from '../../src/rules/dag-ranks.js';

const ROOM = { width: 100, height: 40, beside: 10, between: 30 };
const WIDE = { width: 650, height: 390 };
const TALL = { width: 320, height: 360 };

/** One task, many that wait for it, one that waits for them all. */
const fan = (count: number) => {
  const parts = Array.from({ length: count }, (_, index) => `part-${index}`);
  const edges: DagEdge[] = parts.flatMap((part): DagEdge[] => [
    ['begin', part],
    [part, 'end'],
  ]);
  return { keys: ['begin', ...parts, 'end'], edges };
};
const chain = (length: number) => {
  const keys = Array.from({ length }, (_, index) => `t${index}`);
  return { keys, edges: keys.slice(1).map((key, index): DagEdge => [`t${index}`, key]) };
};

function overlaps({ places }: DagLayout): string[] {
  const all = [...places];
  return all.flatMap(([a, one], index) =>
    all.slice(index + 1).flatMap(([b, other]) => {
      const apart = Math.abs(one.x - other.x) >= ROOM.width || Math.abs(one.y - other.y) >= ROOM.height;
      return apart ? [] : [`${a} on ${b}`];
    }),
  );
}

describe('ranks of a DAG', () => {
  it('puts a task behind the last of those it waits for, and leaves out edges to tasks that are not there', () => {
    const { rankOf, ranks, span } = ranksOf({
      keys: ['c', 'a', 'b'],
      edges: [
        ['a', 'b'],
        ['b', 'c'],
        ['a', 'c'],
        ['gone', 'a'],
      ],
    });
    expect(Object.fromEntries(rankOf)).toEqual({ a: 0, b: 1, c: 2 });
    expect(ranks).toEqual([['a'], ['b'], ['c']]);
    expect(span).toBe(4);
  });
});

describe('the layout of a DAG', () => {
  it('flows to the right where there is room, downwards on a phone and where it is seen better so', () => {
    expect(layOut(fan(3), ROOM, WIDE).flow).toBe('right');
    expect(layOut(fan(3), ROOM, TALL).flow).toBe('down');
    expect(layOut(chain(5), ROOM, WIDE).flow).toBe('right');
    expect(layOut(chain(12), ROOM, TALL).flow).toBe('down');
    expect(layOut(fan(12), ROOM, TALL).flow).toBe('right');
  });

  it('is the same for the same shape, begins at 0, 0 and puts no task on another', () => {
    for (const shape of [fan(3), fan(200), chain(6), { keys: ['alone'], edges: [] }]) {
      const layout = layOut(shape, ROOM, WIDE);
      expect(layOut(shape, ROOM, WIDE)).toEqual(layout);
      const spots = [...layout.places.values()];
      expect(spots).toHaveLength(shape.keys.length);
      expect(Math.min(...spots.map(({ x }) => x))).toBe(0);
      expect(Math.max(...spots.map(({ x }) => x + ROOM.width))).toBe(layout.width);
      expect(Math.max(...spots.map(({ y }) => y + ROOM.height))).toBe(layout.height);
      expect(overlaps(layout)).toEqual([]);
    }
  });

  it('leads an edge that passes ranks around the tasks between', () => {
    const edge: DagEdge = ['t0', 't3'];
    const { keys, edges } = chain(4);
    const { places, bends } = layOut({ keys, edges: [...edges, edge] }, ROOM, WIDE);
    const through = bends.get(edgeName(edge)) ?? [];
    expect(through.length).toBeGreaterThan(0);
    for (const { x, y } of through)
      for (const place of places.values()) {
        const isInside = x > place.x && x < place.x + ROOM.width && y > place.y && y < place.y + ROOM.height;
        expect(isInside).toBe(false);
      }
    expect(bends.has(edgeName(['t0', 't1']))).toBe(false);
  });

  it('makes a block of a rank of 1,000, and goes the careful way only where that is quick', () => {
    const wide = layOut(fan(998), ROOM, WIDE);
    expect(Math.max(wide.width, wide.height)).toBeLessThan(5_000);
    const long = chain(1_000);
    const edges = [...long.edges, ...long.keys.slice(2).map((key): DagEdge => ['t0', key])];
    // Half a million ranks are passed: only the careful way would lead edges around tasks.
    expect(layOut({ keys: long.keys, edges }, ROOM, WIDE).bends.size).toBe(0);
  });
});

it('draws a line along the flow', () => {
  const spots = [
    { x: 0, y: 0 },
    { x: 10, y: 20 },
  ];
  expect(linePath(spots, 'right')).toBe('M0,0 C5,0 5,20 10,20');
  expect(linePath(spots, 'down')).toBe('M0,0 C0,10 10,10 10,20');
});
