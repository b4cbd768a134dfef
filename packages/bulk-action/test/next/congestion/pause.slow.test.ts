import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { timesOf } from '../../congestion/hidden-service.js';
import { groupIds, type ServiceCall, ServiceCalls } from './service-calls.js';

const FROM_MS = 2500;
const UNTIL_MS = 6500;

/** When the store must know: so many customers have reported a refusal as it takes to blame the service. */
function knownAt(calls: readonly ServiceCall[], customers: number): number {
  const answered = calls
    .filter(({ accepted, endedMs }) => !accepted && endedMs !== undefined)
    .sort((a, b) => (a.endedMs as number) - (b.endedMs as number));
  const reporters = new Set<string>();
  for (const { groupId, endedMs } of answered)
    if (reporters.add(groupId).size >= customers) return endedMs as number;
  return Infinity;
}

/** Everything is refused for 4 seconds, and every refusal says until when. */
function pausedEngine(groups: number): ServiceCalls {
  const times = timesOf(seededRng('pause'), 100);
  const engine = new ServiceCalls({
    seed: `pause ${groups}`,
    workers: 20,
    answer: (_job, atMs) =>
      atMs >= FROM_MS && atMs < UNTIL_MS
        ? { accepted: false, afterMs: times.refusalMs(), retryAfterMs: UNTIL_MS - atMs }
        : { accepted: true, afterMs: times.workMs() },
  });
  engine.submit(groupIds(groups), 4800 / groups);
  engine.run(12_000);
  return engine;
}

describe('a pause that the service asks for', () => {
  it.each([1, 8])('bulk-action BA-3: is kept by everybody in both processes, with %i customers', (groups) => {
    const { calls } = pausedEngine(groups);
    const knownMs = knownAt(calls, Math.min(groups, 3));
    expect(knownMs, 'when so many have reported it').toBeLessThan(FROM_MS + 100);
    const starts = calls.map(({ startedMs }) => startedMs);
    expect(
      starts.filter((at) => at > knownMs && at < UNTIL_MS),
      `starts from ${knownMs} to ${UNTIL_MS}`,
    ).toEqual([]);
    const late = calls.filter(({ startedMs }) => startedMs >= UNTIL_MS);
    expect(new Set(late.map(({ instanceId }) => instanceId)).size, 'processes that went on').toBe(2);
  });

  it('bulk-action BA-3: ends without a burst, and the work is back soon', () => {
    const { calls } = pausedEngine(8);
    const countOf = (fromMs: number, toMs: number) =>
      calls.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).length;
    const before = countOf(FROM_MS - 1000, FROM_MS);
    const first = countOf(UNTIL_MS, UNTIL_MS + 50);
    expect(first, `in the first 50 ms, ${before} a second before`).toBeLessThanOrEqual(before / 20 + 4);
    const after = countOf(UNTIL_MS + 2000, UNTIL_MS + 3000);
    expect(after, `a second, ${before} before`).toBeGreaterThan(0.9 * before);
  });
});
