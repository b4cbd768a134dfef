import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { leakyBucket, timesOf } from '../../congestion/hidden-service.js';
import { groupIds, ratePerSecond, ServiceCalls } from './service-calls.js';

const GROUPS = 8;

describe('settings of congestion control', () => {
  it('bulk-action BA-3: initialRps begins slowly and doubles each second until the service refuses', () => {
    const times = timesOf(seededRng('slow start'), 50);
    const hidden = leakyBucket(() => 100, times);
    const engine = new ServiceCalls({
      seed: 'slow start',
      config: { resources: { api: { initialRps: 5 } } },
      answer: (_job, atMs) => hidden.call(atMs),
    });
    engine.submit(groupIds(GROUPS), 400);
    engine.run(20_000);
    const { calls } = engine;
    const refusedMs = calls.find(({ accepted }) => !accepted)?.atMs ?? Infinity;
    const rates = [0, 1, 2, 3, 4, 5].map((second) =>
      ratePerSecond(calls, second * 1000, second * 1000 + 1000),
    );
    console.log(`initialRps 5: ${rates.join(', ')} a second, first refused after ${refusedMs.toFixed(0)} ms`);
    expect(rates[0]).toBeGreaterThanOrEqual(5);
    expect(rates[0]).toBeLessThanOrEqual(10);
    for (const second of [1, 2, 3]) {
      const times = (rates[second] as number) / (rates[second - 1] as number);
      expect(times, `${rates[second - 1]} → ${rates[second]}`).toBeGreaterThan(1.6);
      expect(times, `${rates[second - 1]} → ${rates[second]}`).toBeLessThan(2.5);
    }
    expect(refusedMs, 'first refused').toBeGreaterThan(3500);
    expect(refusedMs, 'first refused').toBeLessThan(6500);
    expect(ratePerSecond(calls, 8000, 20_000), 'of 100 afterwards').toBeGreaterThan(90);
  });

  it('bulk-action BA-3: congestion.enabled false slows no group, but a refused job still waits', () => {
    const times = timesOf(seededRng('disabled'), 50);
    const run = (enabled: boolean) => {
      const hidden = leakyBucket(() => 40, times);
      const engine = new ServiceCalls({
        seed: 'disabled',
        workers: 10,
        config: { congestion: { enabled } },
        answer: (_job, atMs) => hidden.call(atMs),
      });
      engine.submit(groupIds(GROUPS), 1500);
      engine.run(5000);
      return engine.calls;
    };
    const calls = run(false);
    const all = ratePerSecond(calls, 1000, 5000, () => true);
    expect(all, 'calls a second, of which 40 are accepted').toBeGreaterThan(400);
    const controlled = ratePerSecond(run(true), 1000, 5000, () => true);
    expect(controlled, 'calls a second with congestion control').toBeLessThan(60);
    const refusedAt = new Map<string, number>();
    const waits: number[] = [];
    for (const { groupId, position, atMs, accepted } of calls) {
      const before = refusedAt.get(`${groupId} ${position}`);
      if (before !== undefined) waits.push(atMs - before);
      if (!accepted) refusedAt.set(`${groupId} ${position}`, atMs);
    }
    expect(waits.length, 'jobs that came again').toBeGreaterThan(50);
    expect(Math.min(...waits), 'ms between two attempts of a job').toBeGreaterThanOrEqual(1000);
  });
});
