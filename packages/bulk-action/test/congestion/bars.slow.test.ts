import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { aimdAlone, type Controller, shipped, vegasAlone } from './controllers.js';
import { firstFormulas } from './first-formulas.js';
import {
  type Capacity,
  fixedWindow,
  type HiddenService,
  leakyBucket,
  queueing,
  type ServiceTimes,
  slidingWindow,
  timesOf,
} from './hidden-service.js';
import { type Outcome, play } from './model.js';
import { drawnProfile, type Profile, stepProfile } from './profiles.js';

type MakeService = (capacity: Capacity, times: ServiceTimes) => HiddenService;

const STEP = stepProfile(30_000);
const SEEDS = ['one', 'two', 'three'];
const DRAWN = SEEDS.map((seed) => drawnProfile(seededRng(`profile ${seed}`), `drawn by '${seed}'`));
const REFUSING: readonly (readonly [string, MakeService])[] = [
  ['sliding window', slidingWindow],
  ['leaky bucket', leakyBucket],
  ['fixed window', fixedWindow],
];

function run(
  profile: Profile,
  make: MakeService,
  controller: Controller,
  seed: string,
  meanMs = 50,
): Outcome {
  const rng = seededRng(seed);
  // Vegas takes different job times for a queue, so the service that queues does work of about one length.
  const times = timesOf(rng.fork('service'), meanMs, make === queueing ? 0.05 : 0.3);
  const service = make(profile.capacity, times);
  return play({ profile, service, controller, rng: rng.fork('workers') });
}

/** The mean of some runs: one seed more or less decides nothing. */
function meanOf(outcomes: readonly Outcome[]) {
  const mean = (pick: (outcome: Outcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + pick(outcome), 0) / outcomes.length;
  return { goodput: mean((o) => o.goodput), refused: mean((o) => o.refused), p99Ms: mean((o) => o.p99Ms) };
}

const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
const lineOf = (what: string, who: string, { goodput, refused, p99Ms }: ReturnType<typeof meanOf>) =>
  `${what.padEnd(48)}${who.padEnd(15)}${percent(goodput).padStart(8)}${percent(refused).padStart(9)}${p99Ms.toFixed(0).padStart(7)} ms`;

describe('bulk-action BA-3: congestion control in virtual time', () => {
  it.each(REFUSING)(
    'bulk-action BA-3: 100 → 40 → 100/s on a %s: in the mean of nine runs at least 0.94 of the ideal, at most 0.02 refused',
    (name, make) => {
      const outcomes = [10, 50, 150].flatMap((meanMs) =>
        SEEDS.map((seed) => run(STEP, make, shipped(), `${seed} ${meanMs}`, meanMs)),
      );
      const mean = meanOf(outcomes);
      expect(mean.goodput, `${name}: ${percent(mean.goodput)}`).toBeGreaterThanOrEqual(0.94);
      expect(mean.refused, `${name}: ${percent(mean.refused)}`).toBeLessThanOrEqual(0.02);
      // No single run may be far off either: a mean can hide one that got stuck.
      for (const { goodput, refused } of outcomes) {
        expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.9);
        expect(refused, percent(refused)).toBeLessThanOrEqual(0.03);
      }
    },
  );

  it.each(
    DRAWN.flatMap((profile) => REFUSING.map(([name, make]) => [profile.name, name, profile, make] as const)),
  )(
    'bulk-action BA-3: capacity %s on a %s: in the mean of three runs at least 0.89 of the ideal, at most 0.03 refused',
    (_profile, _service, profile, make) => {
      const { goodput, refused } = meanOf(SEEDS.map((seed) => run(profile, make, shipped(), seed)));
      expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.89);
      expect(refused, percent(refused)).toBeLessThanOrEqual(0.03);
    },
  );

  it.each([20, 50, 200])(
    'bulk-action BA-3: a service of %i ms that queues: p99 below 1 s with adaptiveConcurrency, and hardly anything lost',
    (meanMs) => {
      for (const seed of SEEDS) {
        const { p99Ms, goodput } = run(STEP, queueing, shipped({ adaptiveConcurrency: true }), seed, meanMs);
        expect(p99Ms, `p99 ${p99Ms.toFixed(0)} ms`).toBeLessThan(1000);
        expect(goodput, percent(goodput)).toBeGreaterThanOrEqual(0.94);
      }
    },
  );

  it('bulk-action BA-3: beside AIMD alone and Vegas alone, in one table', () => {
    const lines: string[] = [];
    const refusedBy = new Map<string, number>();
    const compare = (profile: Profile, name: string, make: MakeService) => {
      for (const controller of [shipped, firstFormulas, aimdAlone, vegasAlone]) {
        const mean = meanOf([run(profile, make, controller(), 'table')]);
        lines.push(lineOf(`${profile.name}, ${name}`, controller().name, mean));
        if (profile === STEP) refusedBy.set(`${name} ${controller().name}`, mean.refused);
      }
    };
    for (const [name, make] of REFUSING) compare(STEP, name, make);
    for (const profile of DRAWN) compare(profile, 'leaky bucket', leakyBucket);
    for (const controller of [() => shipped({ adaptiveConcurrency: true }), aimdAlone, vegasAlone]) {
      const mean = meanOf([run(STEP, queueing, controller(), 'table')]);
      lines.push(lineOf(`${STEP.name}, queue`, controller().name, mean));
    }
    console.log(`${'hidden capacity'.padEnd(63)} goodput  refused    p99\n${lines.join('\n')}`);
    for (const [name] of REFUSING) {
      const ours = refusedBy.get(`${name} Millrace`) ?? 1;
      for (const other of ['AIMD alone', 'Vegas alone'])
        expect(ours, `${name}: refused beside ${other}`).toBeLessThan(refusedBy.get(`${name} ${other}`) ?? 0);
    }
  });

  it('bulk-action BA-3: a caller who ignores the refusals is far from the bars, so the model can tell', () => {
    const reckless: Controller = {
      ...shipped(),
      name: 'no control',
      nextStartMs: (nowMs) => nowMs,
      refused: () => {},
    };
    expect(run(stepProfile(5000), slidingWindow, reckless, 'reckless').refused).toBeGreaterThan(0.5);
  });

  it('bulk-action BA-3: one seed gives one run', () => {
    const twice = [0, 1].map(() => run(STEP, leakyBucket, shipped(), 'again'));
    expect(twice[0]).toEqual(twice[1]);
  });
});
