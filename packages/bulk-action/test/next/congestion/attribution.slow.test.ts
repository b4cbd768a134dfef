import { seededRng } from '@millrace/foundation';
import { afterAll, describe, expect, it } from 'vitest';
import { type HiddenService, leakyBucket, slidingWindow, timesOf } from '../../congestion/hidden-service.js';
import { stepProfile } from '../../congestion/profiles.js';
import { GoodputTable, percent } from './goodput.js';
import { groupIds, ratePerSecond, type ServiceCall, ServiceCalls } from './service-calls.js';

const GROUPS = 12;
const isFirst = (groupId: string) => groupId === groupIds(1)[0];
const isOther = (groupId: string) => !isFirst(groupId);
const table = new GoodputTable();

afterAll(() => console.log(`${table}`));

/** So many calls a second for all who are under it. */
interface Limit {
  readonly name: string;
  readonly perSecond: number;
}

/** Twenty workers with jobs of 100 ms: nearly 200 calls a second, if no group is slowed. */
function callsOf(seed: string, limitsOf: (groupId: string) => readonly Limit[]) {
  const times = timesOf(seededRng(`${seed} service`), 100);
  const services = new Map<string, HiddenService>();
  const serviceOf = ({ name, perSecond }: Limit): HiddenService => {
    const known = services.get(name) ?? leakyBucket(() => perSecond, times);
    services.set(name, known);
    return known;
  };
  const engine = new ServiceCalls({
    seed,
    workers: 20,
    answer({ groupId }, atMs) {
      for (const limit of limitsOf(groupId)) {
        const answer = serviceOf(limit).call(atMs);
        if (!answer.accepted) return answer;
      }
      return { accepted: true, afterMs: times.workMs() };
    },
  });
  engine.submit(groupIds(GROUPS), 600);
  engine.run(25_000);
  return engine.calls;
}

const rateOf = (calls: readonly ServiceCall[], whose: (groupId: string) => boolean) =>
  ratePerSecond(calls, 10_000, 25_000, ({ accepted, groupId }) => accepted && whose(groupId));

describe('who is slowed by a service that refuses', () => {
  it('bulk-action BA-3: one customer that is refused is slowed alone, and the others go on as before', () => {
    const undisturbed = callsOf('one', () => []);
    const disturbed = callsOf('one', (groupId) =>
      isFirst(groupId) ? [{ name: 'its own', perSecond: 5 }] : [],
    );
    const [before, after] = [rateOf(undisturbed, isOther), rateOf(disturbed, isOther)];
    expect(after / before, `the others: ${before} → ${after} a second`).toBeGreaterThan(0.97);
    const own = rateOf(disturbed, isFirst);
    expect(own, `it got ${own} of 5 a second`).toBeGreaterThan(0.7 * 5);
    const refused = disturbed.filter(({ atMs, accepted }) => atMs > 10_000 && !accepted).length / 15;
    expect(refused, `${refused} refusals a second`).toBeLessThan(2);
  });

  it('bulk-action BA-3: also while the service holds all of them back', () => {
    const shared = { name: 'all', perSecond: 60 };
    const undisturbed = callsOf('both', () => [shared]);
    const disturbed = callsOf('both', (groupId) =>
      isFirst(groupId) ? [{ name: 'its own', perSecond: 1 }, shared] : [shared],
    );
    const [before, after] = [rateOf(undisturbed, isOther), rateOf(disturbed, isOther)];
    expect(before, 'the others without it, of 55 a second').toBeGreaterThan(0.9 * 55);
    expect(after / before, `the others: ${before} → ${after} a second`).toBeGreaterThan(0.93);
  });

  it('bulk-action BA-3: many customers that are refused slow everybody who calls the service', () => {
    const half = new Set(groupIds(GROUPS / 2));
    const isSpared = (groupId: string) => !half.has(groupId);
    const undisturbed = callsOf('many', () => []);
    const disturbed = callsOf('many', (groupId) =>
      isSpared(groupId) ? [] : [{ name: 'theirs', perSecond: 30 }],
    );
    const [before, after] = [rateOf(undisturbed, isSpared), rateOf(disturbed, isSpared)];
    expect(after / before, `never refused: ${before} → ${after} a second`).toBeLessThan(0.6);
    const own = rateOf(disturbed, (groupId) => half.has(groupId));
    expect(own, `they got ${own} of 30 a second`).toBeGreaterThan(0.75 * 30);
  });

  it.each([1, 2, 40])(
    'bulk-action BA-3: with %i customers: at least 0.94 of the ideal of 100 → 40 → 100/s, at most 0.02 refused',
    (groups) => {
      const profile = stepProfile(30_000);
      const settings = [slidingWindow, leakyBucket].map((make) => ({ profile, make, seed: 'few', groups }));
      const { goodput, refused } = table.meanOf(`${profile.name}, customers: ${groups}`, settings);
      expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.94);
      expect(refused, percent(refused)).toBeLessThanOrEqual(0.02);
    },
  );
});
