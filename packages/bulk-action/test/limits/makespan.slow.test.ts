import { describe, expect, it } from 'vitest';
import { defaultBurst } from '../../src/rules/gcra.js';
import { VirtualEngine } from '../fairness/virtual-engine.js';

const JOBS = 15_000;

type Scope = 'global' | 'tenant' | 'group';

interface Setting {
  readonly scope: Scope;
  readonly rps: number;
  readonly jobs?: number;
  readonly burst?: number;
  readonly groups?: number;
  readonly instances?: number;
  readonly roundTripMs?: number;
  readonly latenessMs?: number;
  readonly workers?: number;
}

/** First to last start divided by what the rate allows, and starts that were refused for want of a token, per job. */
async function makespan(setting: Setting): Promise<{ readonly ratio: number; readonly throttles: number }> {
  const { scope, rps, jobs = JOBS, burst, groups = 1, workers = 50 } = setting;
  const { instances = 1, roundTripMs = 0, latenessMs = 0 } = setting;
  const limit = { rps, ...(burst !== undefined && { burst }) };
  const engine = new VirtualEngine({
    seed: `makespan ${scope}`,
    instances,
    roundTripMs,
    latenessMs,
    config: {
      workerPool: { workerCount: workers },
      backpressure: {
        globalRps: scope === 'global' ? rps : 0,
        ...(scope === 'global' && burst !== undefined && { burst }),
      },
    },
    serviceMs: (_job, rng) => rng.exponential(20),
  });
  if (scope === 'tenant') await engine.service.updateTenant('a', limit);
  for (let n = 0; n < groups; n++)
    await engine.submit({ id: `a/g${n}`, ...(scope === 'group' && limit) }, jobs / groups);
  await engine.run(() => engine.untilStarted(jobs));
  const { starts, rateDenied } = engine.recording;
  const span = (starts.at(-1)?.at ?? Number.NaN) - (starts[0]?.at ?? 0);
  const total = scope === 'group' ? groups : 1;
  const idealMs = ((jobs / total - (burst ?? defaultBurst(rps))) / rps) * 1000;
  return { ratio: span / idealMs, throttles: rateDenied / jobs };
}

async function expectWithin(setting: Setting, bar = 1.02): Promise<void> {
  const { ratio, throttles } = await makespan(setting);
  console.log(`makespan ${JSON.stringify(setting)}: ${ratio.toFixed(4)}, ${throttles} throttles per job`);
  expect(ratio, `first to last start took ${ratio} of what the rate allows`).toBeLessThanOrEqual(bar);
  expect(ratio, 'not faster than the rate').toBeGreaterThanOrEqual(0.999);
  expect(throttles, `${throttles} throttles per job`).toBeLessThanOrEqual(0.02);
}

describe('bulk-action BA-2: 15,000 jobs at a fixed rate', () => {
  it.each(['global', 'tenant', 'group'] as const)(
    'bulk-action BA-2: under a %s limit take what the rate allows, with no throttles',
    (scope) => expectWithin({ scope, rps: 1000 }),
  );

  it('bulk-action BA-2: also with a round trip of 1 ms, late timers, two instances and 100 groups', () =>
    expectWithin({ scope: 'global', rps: 1000, groups: 100, instances: 2, roundTripMs: 1, latenessMs: 3 }));

  it('bulk-action BA-2: also at a rate that is no whole number of microseconds apart', () =>
    expectWithin({ scope: 'group', rps: 700, jobs: 4000, roundTripMs: 1, latenessMs: 3 }));

  it('bulk-action BA-2: also at 10 per second, where the burst is one start', () =>
    expectWithin({ scope: 'group', rps: 10, jobs: 600, latenessMs: 1 }));

  it('bulk-action BA-2: ten groups, each at its own rate', () =>
    expectWithin({ scope: 'group', rps: 100, groups: 10, jobs: 5000, roundTripMs: 1, latenessMs: 3 }));
});
