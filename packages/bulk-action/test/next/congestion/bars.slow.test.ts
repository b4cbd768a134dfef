import { seededRng } from '@millrace/foundation';
import { afterAll, describe, expect, it } from 'vitest';
import { fixedWindow, leakyBucket, queueing, slidingWindow } from '../../congestion/hidden-service.js';
import { drawnProfile, stepProfile } from '../../congestion/profiles.js';
import { GoodputTable, goodputOf, type MakeService, percent } from './goodput.js';

const STEP = stepProfile(30_000);
const SEEDS = ['one', 'two', 'three'];
const REFUSING: readonly (readonly [string, MakeService])[] = [
  ['sliding window', slidingWindow],
  ['leaky bucket', leakyBucket],
  ['fixed window', fixedWindow],
];
const table = new GoodputTable();

afterAll(() => console.log(`${table}`));

describe('engine and a service whose capacity it does not know, in virtual time', () => {
  it.each(REFUSING)(
    'bulk-action BA-3: 100 → 40 → 100/s on a %s: in the mean of three runs at least 0.94 of the ideal, at most 0.02 refused',
    (name, make) => {
      const settings = [10, 50, 150].map((meanMs, index) => {
        return { profile: STEP, make, seed: `${SEEDS[index]} ${meanMs}`, meanMs };
      });
      const { goodput, refused } = table.meanOf(`${STEP.name}, ${name}`, settings);
      expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.94);
      expect(refused, percent(refused)).toBeLessThanOrEqual(0.02);
    },
  );

  const pairs: readonly (readonly [string, readonly MakeService[]])[] = [
    ['one', [slidingWindow, leakyBucket]],
    ['two', [leakyBucket, fixedWindow]],
    ['three', [fixedWindow, slidingWindow]],
  ];
  it.each(pairs)(
    "bulk-action BA-3: capacity drawn by '%s': in the mean of two services at least 0.89 of the ideal, at most 0.03 refused",
    (seed, services) => {
      const profile = drawnProfile(seededRng(`profile ${seed}`), `drawn by '${seed}'`);
      const settings = services.map((make) => ({ profile, make, seed }));
      const names = services.map((make) => REFUSING.find((one) => one[1] === make)?.[0]).join(', ');
      const { goodput, refused } = table.meanOf(`${profile.name}, ${names}`, settings);
      expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.89);
      expect(refused, percent(refused)).toBeLessThanOrEqual(0.03);
    },
  );

  it.each([
    [20, 'one'],
    [200, 'two'],
  ])(
    'bulk-action BA-3: a service of %i ms that queues: p99 below 1 s with adaptiveConcurrency, and hardly anything lost',
    (meanMs, seed) => {
      // Vegas takes different job times for a queue, so this service does work of about one length.
      const alike = { spread: 0.05, config: { resources: { api: { adaptiveConcurrency: true } } } };
      const settings = [{ profile: STEP, make: queueing, seed, meanMs, ...alike }];
      const { p99Ms, goodput } = table.meanOf(`${STEP.name}, queue, ${meanMs} ms`, settings);
      expect(p99Ms, `p99 ${p99Ms.toFixed(0)} ms`).toBeLessThan(1000);
      expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.94);
    },
  );

  it('bulk-action BA-3: without adaptiveConcurrency the same service has a queue of every worker, so the test can tell', () => {
    const profile = stepProfile(10_000);
    const { p99Ms } = table.meanOf(`${profile.name}, queue, not adaptive`, [
      { profile, make: queueing, seed: 'one', meanMs: 20, spread: 0.05 },
    ]);
    expect(p99Ms, `p99 ${p99Ms.toFixed(0)} ms`).toBeGreaterThan(1000);
  });

  it.each([4, 7])(
    'bulk-action BA-3: 100 → 40 → 100/s with a takeover every %i s: hardly less done and hardly more refused',
    (seconds) => {
      const setting = { profile: STEP, make: leakyBucket, seed: 'takeover' };
      const without = table.meanOf(`${STEP.name}, one owner`, [setting]);
      const { goodput, refused } = table.meanOf(`${STEP.name}, an owner every ${seconds} s`, [
        { ...setting, takeOverMs: seconds * 1000 },
      ]);
      expect(goodput, percent(goodput)).toBeGreaterThan(without.goodput - 0.05);
      expect(refused, percent(refused)).toBeLessThan(without.refused + 0.03);
    },
  );

  it('bulk-action BA-3: one seed gives one run', () => {
    const setting = { profile: stepProfile(4000), make: leakyBucket, seed: 'again' };
    expect(goodputOf(setting)).toEqual(goodputOf(setting));
  });
});
