import { BulkActionEngine, MemoryStore, resolveBulkActionConfig } from '@millrace/bulk-action';
import { formatScopedId, seededRng, silentLogger } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultBurst, fullBucket, spendToken, tokensAt, tokenWaitMs } from '../../src/rules/token-bucket.js';

const limits = fc.record({
  rps: fc.oneof(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0.05, max: 50, noNaN: true })),
  burst: fc.integer({ min: 1, max: 20 }),
});

describe('orchestrator NFR-2: token bucket', () => {
  it('orchestrator NFR-2: lets a burst through at once, then one per interval, and says when', () => {
    let bucket = fullBucket({ rps: 10, burst: 3 });
    for (const tokens of [3, 2, 1]) {
      expect(tokensAt(bucket, 1_000, 0)).toBe(tokens);
      expect(tokenWaitMs(bucket, 1_000, 0)).toBe(0);
      bucket = spendToken(bucket, 1_000);
    }
    expect(tokensAt(bucket, 1_000, 0)).toBe(0);
    expect(tokenWaitMs(bucket, 1_000, 0)).toBe(100);
    expect(tokenWaitMs(bucket, 1_060, 0)).toBe(40);
    expect(tokenWaitMs(bucket, 1_100, 0)).toBe(0);
    expect(tokensAt(bucket, 1_150, 0)).toBe(1.5);
    expect(tokensAt(bucket, 9_999, 0)).toBe(3);
  });

  it('orchestrator NFR-2: those who were let through and have not begun are counted', () => {
    const bucket = fullBucket({ rps: 10, burst: 2 });
    expect(tokenWaitMs(bucket, 0, 1)).toBe(0);
    expect(tokenWaitMs(bucket, 0, 2)).toBe(100);
    expect(tokensAt(bucket, 0, 2)).toBe(0);
    expect(tokensAt(bucket, 0, 5)).toBe(0);
  });

  it('orchestrator NFR-2: no sliding window holds more than rps × T + burst, whoever is told to wait may start then', () => {
    const gaps = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(limits, gaps, fc.boolean(), (limit, arrivals, patient) => {
        let bucket = fullBucket(limit);
        let nowMs = 86_400_000;
        const starts: number[] = [];
        for (const gap of arrivals) {
          nowMs += (gap * 1000) / limit.rps;
          const waitMs = tokenWaitMs(bucket, nowMs, 0);
          if (waitMs > 0 && !patient) continue;
          nowMs += Math.ceil(waitMs);
          expect(tokenWaitMs(bucket, nowMs, 0)).toBe(0);
          bucket = spendToken(bucket, nowMs);
          starts.push(nowMs);
        }
        starts.forEach((from, first) => {
          starts.slice(first).forEach((to, more) => {
            // A start may be a microsecond early.
            expect(more + 1).toBeLessThanOrEqual((limit.rps * (to - from + 0.002)) / 1000 + limit.burst);
          });
        });
      }),
      { numRuns: 300 },
    );
  });

  it("orchestrator NFR-2: answers as bulk-action's limiter does, which is in whole microseconds", async () => {
    // Rates whose interval is whole microseconds, so that the two may not differ by rounding.
    const rates = fc.constantFrom(1, 2, 4, 8, 10, 25, 64, 100);
    const bursts = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined });
    // In quarters of the interval, on average less than one interval: about as many are refused as let through.
    const gaps = fc.array(fc.constantFrom(0, 0, 1, 2, 3, 4, 5, 9), { minLength: 10, maxLength: 40 });
    let allowed = 0;
    let denied = 0;
    await fc.assert(
      fc.asyncProperty(rates, bursts, gaps, async (rps, burst, quarters) => {
        const clock = new ManualClock();
        const { store, start, check } = await bulkLimiter(clock, rps, burst, quarters.length);
        let bucket = fullBucket({ rps, burst: burst ?? defaultBurst(rps) });
        for (const quarter of quarters) {
          await clock.advance((quarter * 250) / rps);
          const waitMs = tokenWaitMs(bucket, clock.monotonicMs(), 0);
          expect(await check()).toEqual({ allowed: waitMs === 0, nextInMs: Math.ceil(waitMs) });
          if (waitMs > 0) {
            denied += 1;
            continue;
          }
          allowed += 1;
          await start();
          bucket = spendToken(bucket, clock.monotonicMs());
        }
        await store.stop();
      }),
      { numRuns: 60 },
    );
    expect(Math.min(allowed, denied)).toBeGreaterThan(50);
  });
});

/** A group in bulk-action's own store, started job by job. */
async function bulkLimiter(clock: ManualClock, rps: number, burst: number | undefined, jobs: number) {
  const config = { workerPool: { workerCount: 0 } };
  const store = new MemoryStore(resolveBulkActionConfig(config), { clock });
  const engine = new BulkActionEngine({ config, clock, rng: seededRng('limiter'), log: silentLogger, store });
  const job = (n: number) => ({ id: `j${n}`, processorType: 'T', payload: n });
  await engine.service.submitBulk(
    { id: 'g', rps, burst },
    Array.from({ length: jobs }, (_, n) => job(n)),
  );
  const key = formatScopedId({ tenant: '', id: 'g' });
  let seq = 0;
  return {
    store,
    check: () => store.gate.checkRate(key, 1),
    start: async () => {
      seq += 1;
      const answer = await store.leases.reserve({ instanceId: 'i', seq, max: 1, turns: 1 });
      expect(answer.jobs).toHaveLength(1);
    },
  };
}
