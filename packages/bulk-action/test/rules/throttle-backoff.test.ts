import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { levelOf, throttleBackoff } from '../../src/rules/throttle-backoff.js';

const bounds = { baseBackoffMs: 1000, maxBackoffMs: 120_000 };

describe('bulk-action BA-3: how long a throttled job waits', () => {
  it.each([
    ['nobody else waits: the first back-off', { nonReadyCount: 0, groupRps: 10 }, 1000],
    ['as long as its group needs for those who wait', { nonReadyCount: 95, groupRps: 10 }, 10_000],
    ['a group slower than one per second counts as one', { nonReadyCount: 7, groupRps: 0.1 }, 8000],
    ['never longer than the maximum', { nonReadyCount: 1_000_000, groupRps: 1 }, 120_000],
    ['what the service asked for wins', { nonReadyCount: 95, groupRps: 10, retryAfterMs: 2500 }, 2500],
    ['also when it is longer', { nonReadyCount: 0, groupRps: 10, retryAfterMs: 600_000 }, 600_000],
    ['also when it is nothing', { nonReadyCount: 95, groupRps: 10, retryAfterMs: 0 }, 0],
    ['rounded up: earlier would be refused', { nonReadyCount: 0, groupRps: 10, retryAfterMs: 0.2 }, 1],
  ])('bulk-action BA-3: %s', (_what, facts, expected) => {
    expect(throttleBackoff({ ...facts, random: 0 }, bounds)).toEqual({
      backoffMs: expected,
      delayMs: expected,
    });
  });

  it('bulk-action BA-3: those refused together come back spread, in whole milliseconds, never earlier than asked', () => {
    const facts = fc.record({
      nonReadyCount: fc.nat(1e6),
      groupRps: fc.double({ min: 0, max: 1e5, noNaN: true }),
      retryAfterMs: fc.option(fc.nat(86_400_000), { nil: undefined }),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    });
    fc.assert(
      fc.property(facts, (given) => {
        const { backoffMs, delayMs } = throttleBackoff(given, bounds);
        expect(Number.isInteger(delayMs)).toBe(true);
        expect(delayMs).toBeGreaterThanOrEqual(given.retryAfterMs ?? backoffMs);
        expect(delayMs).toBeLessThanOrEqual(Math.ceil(backoffMs * 1.5));
      }),
    );
    const delays = [0, 0.25, 0.5, 0.99].map(
      (random) => throttleBackoff({ nonReadyCount: 0, groupRps: 1, random }, bounds).delayMs,
    );
    expect(delays).toEqual([1000, 1125, 1250, 1495]);
  });

  it.each([
    [0, 'NONE'],
    [1000, 'NONE'],
    [1001, 'LOW'],
    [2999, 'LOW'],
    [3000, 'MODERATE'],
    [9999, 'MODERATE'],
    [10_000, 'HIGH'],
    [29_999, 'HIGH'],
    [30_000, 'CRITICAL'],
  ] as const)('bulk-action BA-3: a back-off of %i ms is level %s', (backoffMs, level) => {
    expect(levelOf(backoffMs, 1000)).toBe(level);
  });

  it('bulk-action BA-3: a base of 0 makes no wait critical that is none', () => {
    expect(levelOf(0, 0)).toBe('NONE');
  });
});
