import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { timesOf } from '../../congestion/hidden-service.js';
import { groupIds, ratePerSecond, type ServiceCall, ServiceCalls } from './service-calls.js';

const JOBS = 10_000;
const GROUPS = 20;
const DOWN_MS = 5000;
const UP_MS = 65_000;

const isDown = (atMs: number) => atMs >= DOWN_MS && atMs < UP_MS;

/** How many came, and in the busiest 100 ms. */
function crowding(calls: readonly ServiceCall[], fromMs: number, toMs: number) {
  const windows = new Map<number, number>();
  let count = 0;
  for (const { atMs } of calls) {
    if (atMs < fromMs || atMs >= toMs) continue;
    count += 1;
    const window = Math.floor(atMs / 100);
    windows.set(window, (windows.get(window) ?? 0) + 1);
  }
  return { count, most: Math.max(0, ...windows.values()) };
}

/** The first time from which on a whole second reaches this rate. */
function backAt(calls: readonly ServiceCall[], perSecond: number): number {
  for (let fromMs = UP_MS; fromMs < UP_MS + 60_000; fromMs += 100)
    if (ratePerSecond(calls, fromMs, fromMs + 1000) >= perSecond) return fromMs;
  return Infinity;
}

function sufferOutage(seed: string, retryAfterMs?: number) {
  const times = timesOf(seededRng(`${seed} service`), 100);
  const engine = new ServiceCalls({
    seed,
    workers: 20,
    answer: (_job, atMs) =>
      isDown(atMs)
        ? { accepted: false, afterMs: times.refusalMs(), retryAfterMs }
        : { accepted: true, afterMs: times.workMs() },
  });
  engine.submit(groupIds(GROUPS), JOBS / GROUPS, { isSealed: true });
  engine.run(400_000, () => engine.served >= JOBS);
  return engine;
}

describe('a service that answers 503 for a minute, 10,000 jobs', () => {
  it.each([
    ['without Retry-After', undefined],
    ['with a Retry-After of 5 s', 5000],
  ])('bulk-action BA-3: %s', (name, retryAfterMs) => {
    const { calls, engine } = sufferOutage(name, retryAfterMs);
    const before = ratePerSecond(calls, 1000, DOWN_MS);
    const refused = calls.filter(({ accepted }) => !accepted).length;
    // The first second is that of the calls under way and of finding out.
    const down = crowding(calls, DOWN_MS + 1000, UP_MS);
    const backMs = backAt(calls, 0.9 * before);
    const after = crowding(calls, UP_MS, backMs + 5000);
    console.log(
      `503 for a minute ${name}: ${before.toFixed(0)}/s before; ${refused} refused, ${down.count} of them after the first second, ` +
        `at most ${down.most} in 100 ms; back to 0.9 after ${backMs - UP_MS} ms, at most ${after.most} in 100 ms`,
    );
    expect(Math.max(...calls.map(({ retryCount }) => retryCount)), 'retries spent').toBe(0);
    for (const id of groupIds(GROUPS))
      expect(engine.state.groups.get(id)).toMatchObject({
        status: 'COMPLETED',
        success: JOBS / GROUPS,
        failed: 0,
      });
    expect(down.count / 59, 'calls per second while it is down').toBeLessThanOrEqual(3);
    expect(down.most, 'in the busiest 100 ms while it is down').toBeLessThanOrEqual(5);
    expect(backMs - UP_MS, 'ms until 0.9 of the rate before').toBeLessThan(10_000);
    expect(after.most, `in the busiest 100 ms, ${before / 10} before`).toBeLessThanOrEqual((2 * before) / 10);
  });
});
