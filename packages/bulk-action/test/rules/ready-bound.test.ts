import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readyBound } from '../../src/rules/ready-bound.js';

const facts = {
  liveSlots: 10,
  waitingSlots: 4,
  startsPerSecond: 1000,
  inFlight: 6,
  readyHorizonMs: 50,
  fetchBatchSize: 50,
  readyQueueMaxSize: 10_000,
};

describe('bulk-action BA-2: how much may be ready', () => {
  it.each([
    ['what waits for work and what is drained within half of the horizon', {}, 29],
    ['part of a job counts as one', { startsPerSecond: 1 }, 5],
    ['all busy: only the drain', { waitingSlots: 0 }, 25],
    [
      'all busy with long jobs: still one for whoever is free next',
      { waitingSlots: 0, startsPerSecond: 0.1 },
      1,
    ],
    ['no horizon and nobody waiting: one', { waitingSlots: 0, readyHorizonMs: 0 }, 1],
    ['no drain known: a batch', { startsPerSecond: 0, inFlight: 0 }, 50],
    ['no starts though jobs run: they are long, and only who waits gets one', { startsPerSecond: 0 }, 4],
    [
      'no drain known, many workers: twice as many as they are',
      { startsPerSecond: 0, inFlight: 0, liveSlots: 100 },
      200,
    ],
    ['no worker anywhere: a batch', { startsPerSecond: 0, inFlight: 0, liveSlots: 0, waitingSlots: 0 }, 50],
    ['never above the ceiling', { startsPerSecond: 1_000_000, readyQueueMaxSize: 10 }, 10],
    ['never above the ceiling, no drain known', { startsPerSecond: 0, inFlight: 0, readyQueueMaxSize: 7 }, 7],
  ])('bulk-action BA-2: %s', (_what, patch, expected) => {
    expect(readyBound({ ...facts, ...patch })).toBe(expected);
  });

  it('bulk-action BA-2: it is a whole number from 1 to the ceiling, and leaves no waiting worker without a job', () => {
    const count = fc.nat(5000);
    const any = fc.record({
      liveSlots: count,
      waitingSlots: count,
      startsPerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
      inFlight: count,
      readyHorizonMs: count,
      fetchBatchSize: fc.integer({ min: 1, max: 1000 }),
      readyQueueMaxSize: fc.integer({ min: 1, max: 20_000 }),
    });
    fc.assert(
      fc.property(any, (given) => {
        const waitingSlots = Math.min(given.waitingSlots, given.liveSlots);
        const bound = readyBound({ ...given, waitingSlots });
        expect(Number.isInteger(bound)).toBe(true);
        expect(bound).toBeGreaterThanOrEqual(Math.min(given.readyQueueMaxSize, Math.max(1, waitingSlots)));
        expect(bound).toBeLessThanOrEqual(given.readyQueueMaxSize);
      }),
    );
  });
});
