import { describe, expect, it } from 'vitest';
import { newCounts, StatRing } from '../../src/fleet/stat-ring.js';

const SECOND = 1_000;

describe('the slots of a ring', () => {
  it('counts differences, and leaves out what has not changed', () => {
    expect(newCounts({ done: 7, failed: 2, new: 1 }, { done: 4, failed: 2 })).toEqual({ done: 3, new: 1 });
  });

  it('adds to the slot of a time, and gives it the place that the slot one turn before had', () => {
    const ring = new StatRing(10);
    ring.add(25 * SECOND, { done: 1 }, undefined);
    ring.add(29 * SECOND, { done: 2, failed: 1 }, { ready: 4 });
    ring.add((25 + 3_600) * SECOND, { done: 5 }, undefined);
    expect(ring.unwritten).toEqual([
      { step: 10, slot: 2, place: 2, counted: { done: 3, failed: 1 }, seen: { ready: 4 } },
      { step: 10, slot: 362, place: 2, counted: { done: 5 }, seen: undefined },
    ]);
  });

  it('writes a slot again with all that it has, when more comes to it', () => {
    const ring = new StatRing(60);
    ring.add(61 * SECOND, { done: 1 }, { ready: 1 });
    ring.written(ring.unwritten);
    expect(ring.unwritten).toEqual([]);
    ring.add(71 * SECOND, { done: 2 }, undefined);
    expect(ring.unwritten).toMatchObject([{ slot: 1, counted: { done: 3 }, seen: { ready: 1 } }]);
  });

  it('keeps what came while it was being written', () => {
    const ring = new StatRing(10);
    ring.add(5 * SECOND, { done: 1 }, undefined);
    const rows = ring.unwritten;
    ring.add(6 * SECOND, { done: 1 }, undefined);
    ring.written(rows);
    expect(ring.unwritten).toMatchObject([{ slot: 0, counted: { done: 2 } }]);
  });

  it('adds the oldest to the next when the database is away for long', () => {
    const ring = new StatRing(10);
    for (let slot = 0; slot < 100; slot++) ring.add(slot * 10 * SECOND, { done: 1 }, undefined);
    expect(ring.unwritten).toHaveLength(30);
    expect(ring.unwritten[0]).toMatchObject({ slot: 70, counted: { done: 71 } });
    expect(ring.unwritten.at(-1)).toMatchObject({ slot: 99, counted: { done: 1 } });
  });
});
