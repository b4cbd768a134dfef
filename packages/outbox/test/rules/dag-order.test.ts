import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderOf } from '../../src/rules/dag-order.js';

const NODES_MAX = 9;

/** Any graph, self-loops included; most of the larger ones have cycles. */
const anyGraph = fc
  .integer({ min: 1, max: NODES_MAX })
  .chain((size) =>
    fc.array(fc.uniqueArray(fc.nat(size - 1), { maxLength: 3 }), { minLength: size, maxLength: size }),
  );

/** A graph without a cycle, its tasks in any order: parents have a lower rank. */
const acyclicGraph = fc
  .integer({ min: 1, max: 40 })
  .chain((size) =>
    fc.record({
      rank: fc.shuffledSubarray([...Array(size).keys()], { minLength: size, maxLength: size }),
      draws: fc.array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: size, maxLength: size }),
    }),
  )
  .map(({ rank, draws }) => {
    const taskOfRank = new Map(rank.map((place, task) => [place, task]));
    return rank.map((place, task) =>
      place === 0
        ? []
        : [...new Set(draws[task]?.map((draw) => taskOfRank.get(draw % place) as number) ?? [])],
    );
  });

/** Warshall's closure: another way to know whether there is a cycle. */
function hasCycle(parents: readonly (readonly number[])[]): boolean {
  const reaches = parents.map((list) => parents.map((_, other) => list.includes(other)));
  for (const via of parents.keys()) {
    for (const row of reaches.filter((each) => each[via])) {
      for (const to of parents.keys()) row[to] ||= reaches[via]?.[to] ?? false;
    }
  }
  return reaches.some((row, task) => row[task]);
}

function expectOrder(parents: readonly (readonly number[])[], order: readonly number[]): void {
  expect([...order].sort((a, b) => a - b)).toEqual([...parents.keys()]);
  const place = new Map(order.map((task, index) => [task, index]));
  parents.forEach((list, task) => {
    for (const parent of list) expect(place.get(parent)).toBeLessThan(place.get(task) as number);
  });
}

describe('outbox OB-1: order of the tasks of a DAG', () => {
  it('outbox OB-1: every task stands after what it depends on', () => {
    fc.assert(
      fc.property(acyclicGraph, (parents) => {
        const sorted = orderOf(parents);
        expectOrder(parents, 'order' in sorted ? sorted.order : []);
      }),
    );
  });

  it('outbox OB-1: there is an order or a cycle, and the cycle is one', () => {
    fc.assert(
      fc.property(anyGraph, (parents) => {
        const sorted = orderOf(parents);
        expect('cycle' in sorted).toBe(hasCycle(parents));
        if ('order' in sorted) return expectOrder(parents, sorted.order);
        const { cycle } = sorted;
        expect(cycle.length).toBeGreaterThan(0);
        expect(new Set(cycle).size).toBe(cycle.length);
        expect(cycle[0]).toBe(Math.min(...cycle));
        cycle.forEach((task, index) => {
          expect(parents[cycle[(index + 1) % cycle.length] as number]).toContain(task);
        });
        return undefined;
      }),
      { numRuns: 500 },
    );
  });

  it('outbox OB-11: a chain of 100,000 needs no stack, in either direction, and a ring of them neither', () => {
    const size = 100_000;
    const forwards = Array.from({ length: size }, (_, task) => (task === 0 ? [] : [task - 1]));
    const backwards = Array.from({ length: size }, (_, task) => (task === size - 1 ? [] : [task + 1]));
    const ring = forwards.with(0, [size - 1]);
    expect(orderOf(forwards)).toEqual({ order: [...forwards.keys()] });
    expect(orderOf(backwards)).toEqual({ order: [...backwards.keys()].reverse() });
    expect(orderOf(ring)).toEqual({ cycle: [...ring.keys()] });
  });
});
