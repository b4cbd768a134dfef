import { seededRng } from '@millrace/foundation';
import { afterAll, describe, expect, it } from 'vitest';
import { EngineCalls, groupIds, ratePerSecond, type ServiceCall } from './engine-calls.js';
import { GoodputTable, percent } from './engine-goodput.js';
import { type HiddenService, leakyBucket, slidingWindow, timesOf } from './hidden-service.js';
import { stepProfile } from './profiles.js';

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

/** Twenty workers with jobs of 100 ms: nearly 200 calls a second, if nobody is slowed. */
async function callsOf(seed: string, limitsOf: (groupId: string) => readonly Limit[]) {
  const times = timesOf(seededRng(`${seed} service`), 100);
  const services = new Map<string, HiddenService>();
  const serviceOf = ({ name, perSecond }: Limit): HiddenService => {
    const known = services.get(name) ?? leakyBucket(() => perSecond, times);
    services.set(name, known);
    return known;
  };
  const engine = new EngineCalls({
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
  await engine.submit(groupIds(GROUPS), 600);
  await engine.run(25_000);
  return engine.calls;
}

const rateOf = (calls: readonly ServiceCall[], whose: (groupId: string) => boolean) =>
  ratePerSecond(calls, 10_000, 25_000, ({ accepted, groupId }) => accepted && whose(groupId));

describe('bulk-action BA-3: who is slowed by a service that refuses', () => {
  it('bulk-action BA-3: one customer that is refused is slowed alone, and the others go on as before', async () => {
    const undisturbed = await callsOf('one', () => []);
    const disturbed = await callsOf('one', (groupId) =>
      isFirst(groupId) ? [{ name: 'its own', perSecond: 5 }] : [],
    );
    const [before, after] = [rateOf(undisturbed, isOther), rateOf(disturbed, isOther)];
    expect(after / before, `the others: ${before} → ${after} a second`).toBeGreaterThan(0.97);
    const own = rateOf(disturbed, isFirst);
    expect(own, `it got ${own} of 5 a second`).toBeGreaterThan(0.7 * 5);
    const refused = disturbed.filter(({ atMs, accepted }) => atMs > 10_000 && !accepted).length / 15;
    expect(refused, `${refused} refusals a second`).toBeLessThan(2);
  });

  it('bulk-action BA-3: also while the service holds all of them back', async () => {
    const shared = { name: 'all', perSecond: 60 };
    const undisturbed = await callsOf('both', () => [shared]);
    const disturbed = await callsOf('both', (groupId) =>
      isFirst(groupId) ? [{ name: 'its own', perSecond: 1 }, shared] : [shared],
    );
    const [before, after] = [rateOf(undisturbed, isOther), rateOf(disturbed, isOther)];
    expect(before, 'the others without it, of 55 a second').toBeGreaterThan(0.9 * 55);
    expect(after / before, `the others: ${before} → ${after} a second`).toBeGreaterThan(0.93);
  });

  it('bulk-action BA-3: many customers that are refused slow everybody who calls the service', async () => {
    const half = new Set(groupIds(GROUPS / 2));
    const isSpared = (groupId: string) => !half.has(groupId);
    const undisturbed = await callsOf('many', () => []);
    const disturbed = await callsOf('many', (groupId) =>
      isSpared(groupId) ? [] : [{ name: 'theirs', perSecond: 30 }],
    );
    const [before, after] = [rateOf(undisturbed, isSpared), rateOf(disturbed, isSpared)];
    expect(after / before, `never refused: ${before} → ${after} a second`).toBeLessThan(0.6);
    const own = rateOf(disturbed, (groupId) => half.has(groupId));
    expect(own, `they got ${own} of 30 a second`).toBeGreaterThan(0.75 * 30);
  });

  it.each([1, 2, 40])(
    'bulk-action BA-3: with %i customers: at least 0.94 of the ideal of 100 → 40 → 100/s, at most 0.02 refused',
    async (groups) => {
      const profile = stepProfile(30_000);
      const settings = [slidingWindow, leakyBucket].map((make) => ({ profile, make, seed: 'few', groups }));
      const { goodput, refused } = await table.meanOf(`${profile.name}, customers: ${groups}`, settings);
      expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.94);
      expect(refused, percent(refused)).toBeLessThanOrEqual(0.02);
    },
  );
});
