import { describe, expect, it } from 'vitest';
import { jump, jumpHash } from '../../src/rules/jump-hash.js';

const NAMES = Array.from({ length: 20_000 }, (_, n) => `tenant-${n}`);

describe('bulk-action BA-18: jump hash', () => {
  it.each([
    [1n, 1, 0],
    [42n, 57, 43],
    [256n, 1024, 520],
    [0xdead10ccn, 1, 0],
    [0xdead10ccn, 666, 361],
    [16045690984833335023n, 255, 237],
  ])('bulk-action BA-18: key %s of %i buckets is in %i, as published', (key, buckets, bucket) => {
    expect(jump(key, buckets)).toBe(bucket);
  });

  it.each([2, 3, 7, 64])('bulk-action BA-18: %i buckets get even parts', (buckets) => {
    const counts = Array.from({ length: buckets }, () => 0);
    for (const name of NAMES) counts[jumpHash(name, buckets)] = (counts[jumpHash(name, buckets)] ?? 0) + 1;
    const mean = NAMES.length / buckets;
    // Five standard deviations of a fair draw.
    const tolerance = 5 * Math.sqrt(mean);
    for (const count of counts) expect(Math.abs(count - mean)).toBeLessThan(tolerance);
  });

  it('bulk-action BA-18: names that differ in one character are spread as well', () => {
    const names = [...'abcdefghijklmnopqrstuvwxyz0123456789'].flatMap((a) =>
      [...'abcdefghijklmnopqrstuvwxyz'].map((b) => a + b),
    );
    const ofThree = [0, 1, 2].map((bucket) => names.filter((name) => jumpHash(name, 3) === bucket).length);
    for (const count of ofThree)
      expect(count).toBeGreaterThan(names.length / 3 - 5 * Math.sqrt(names.length / 3));
  });

  it('bulk-action BA-18: one bucket more takes its part and moves nothing else', () => {
    for (const buckets of [1, 2, 3, 9]) {
      const moved = NAMES.filter((name) => jumpHash(name, buckets) !== jumpHash(name, buckets + 1));
      expect(new Set(moved.map((name) => jumpHash(name, buckets + 1)))).toEqual(new Set([buckets]));
      const mean = NAMES.length / (buckets + 1);
      expect(Math.abs(moved.length - mean)).toBeLessThan(5 * Math.sqrt(mean));
    }
  });

  it('bulk-action BA-18: a name is where it always was', () => {
    const names = ['acme', 'zebra', 'tenant-1', '', 'Ω', 'a'.repeat(128)];
    expect(names.map((name) => jumpHash(name, 16))).toMatchInlineSnapshot(`
      [
        13,
        15,
        8,
        15,
        10,
        7,
      ]
    `);
  });
});
