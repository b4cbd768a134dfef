import { expect, it } from 'vitest';
import { MemoryWatch } from '../../src/fleet/memory-watch.js';

it('sees by how much the heap has grown that is left after collections', () => {
  let now = 0;
  let used = 0;
  const watch = new MemoryWatch({ monotonicMs: () => now }, () => used);
  const look = (bytes: number, afterMs: number) => {
    now += afterMs;
    used = bytes;
    return watch.look();
  };
  expect(look(100, 0)).toMatchObject({ heapUsedBytes: 100, grownBytes: 0, overMs: 0 });
  look(900, 5_000);
  look(120, 60_000);
  // The last minute has just begun, and may be all garbage.
  expect(look(700, 60_000)).toMatchObject({ heapUsedBytes: 700, grownBytes: 20, overMs: 65_000 });
  for (let minute = 0; minute < 30; minute++) look(1_000 + minute, 60_000);
  const { grownBytes, overMs, heapLimitBytes, rssBytes } = watch.look();
  expect([grownBytes, overMs]).toEqual([13, 13 * 60_000]);
  expect(heapLimitBytes).toBeGreaterThan(used);
  expect(rssBytes).toBeGreaterThan(used);
});
