import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorBackoffMs, orphanBackoffMs } from '../../src/rules/backoff.js';

const bounds = { defaultBackoffMs: 1000, maxBackoffMs: 60_000 };
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('bulk-action BA-8: back-off after errors', () => {
  it('bulk-action BA-8: doubles from the default to the maximum', () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 1000].map((failures) => errorBackoffMs(failures, bounds, 0));
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('bulk-action BA-8: up to half of a delay is random, and it is whole milliseconds', () => {
    expect(errorBackoffMs(0, bounds, 0.5)).toBe(750);
    expect(errorBackoffMs(0, bounds, 0.3333)).toBe(833);
    fc.assert(
      fc.property(
        fc.nat(40),
        fc.nat(100_000),
        fc.nat(1_000_000),
        random,
        (failures, defaultBackoffMs, more, drawn) => {
          const maxBackoffMs = defaultBackoffMs + more;
          const delay = errorBackoffMs(failures, { defaultBackoffMs, maxBackoffMs }, drawn);
          const longest = Math.min(maxBackoffMs, defaultBackoffMs * 2 ** failures);
          expect(Number.isInteger(delay)).toBe(true);
          expect(delay).toBe(Math.floor(longest * (1 - 0.5 * drawn)));
        },
      ),
    );
  });

  it('bulk-action BA-8: neither a huge count nor a delay of 0 overflows or loops for ever', () => {
    expect(errorBackoffMs(Number.MAX_SAFE_INTEGER, bounds, 0)).toBe(60_000);
    expect(errorBackoffMs(Number.MAX_SAFE_INTEGER, { defaultBackoffMs: 0, maxBackoffMs: 60_000 }, 0.5)).toBe(
      0,
    );
    expect(errorBackoffMs(1e6, { defaultBackoffMs: 1e-300, maxBackoffMs: 1e300 }, 0)).toBe(1e300);
  });

  it('bulk-action BA-15: a first expired lease waits like a first error', () => {
    expect([1, 2, 3].map((count) => orphanBackoffMs(count, bounds, 0))).toEqual([1000, 2000, 4000]);
    expect(orphanBackoffMs(2, bounds, 0.5)).toBe(1500);
  });
});
