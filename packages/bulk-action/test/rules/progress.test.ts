import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GroupCounts, GroupView } from '../../src/model.js';
import { progressOf as progressAt } from '../../src/rules/progress.js';
import { GroupStatus, hasEnded } from '../../src/states.js';

const counts = (patch: Partial<GroupCounts>): GroupCounts => ({
  registered: 0,
  success: 0,
  failed: 0,
  cancelled: 0,
  pending: 0,
  inFlight: 0,
  nonReady: 0,
  ready: 0,
  ...patch,
});
const group = (patch: Partial<GroupView> = {}): GroupView => ({
  id: 'g',
  tenant: '',
  tenantId: 'g',
  weight: 1,
  priorityLevel: 'normal',
  timeoutMs: 3_600_000,
  traceparent: '',
  status: 'RUNNING',
  sealed: true,
  paused: false,
  round: 1,
  createdAt: 0,
  progressAt: 0,
  counts: counts({}),
  settledPerSecond: 0,
  throttled: 0,
  rateDenied: 0,
  lastBackoffMs: 0,
  ...patch,
});
const BASE_MS = 1000;
const progressOf = (view: GroupView) => progressAt(view, BASE_MS);
const percent = (success: number, registered: number, status: GroupStatus = 'RUNNING') =>
  progressOf(group({ status, counts: counts({ registered, success, pending: registered - success }) }))
    .progressPercent;

describe('bulk-action BA-13: progress of a group', () => {
  it('bulk-action BA-13: it says everything that the store counts', () => {
    const view = group({
      status: 'RUNNING',
      round: 2,
      settledPerSecond: 2,
      lastBackoffMs: 4000,
      throttled: 9,
      counts: counts({
        registered: 100,
        success: 20,
        failed: 3,
        cancelled: 2,
        pending: 70,
        inFlight: 5,
        nonReady: 12,
        ready: 4,
      }),
    });
    expect(progressOf(view)).toEqual({
      total: 100,
      registered: 100,
      done: 25,
      success: 20,
      failed: 3,
      cancelled: 2,
      pending: 70,
      inFlight: 5,
      nonReady: 12,
      progressPercent: 25,
      status: 'RUNNING',
      round: 2,
      etaMs: 37_500,
      congestion: { level: 'MODERATE', nonReadyCount: 12, lastBackoffMs: 4000 },
    });
  });

  it('bulk-action BA-13: percent has two decimals, and is 100 only when every job is done', () => {
    expect([percent(1, 3), percent(2, 3), percent(0, 7), percent(7, 7)]).toEqual([33.33, 66.67, 0, 100]);
    expect(percent(199_999, 200_000)).toBe(99.99);
    expect(percent(1, 200_000)).toBe(0);
  });

  it('bulk-action BA-13: an empty group is at 0 until it ends, then at 100', () => {
    expect(percent(0, 0, 'CREATED')).toBe(0);
    expect(percent(0, 0, 'COMPLETED')).toBe(100);
  });

  it('bulk-action BA-13: the ETA is 0 at the end and unknown while paused or while nothing moves', () => {
    const waiting = counts({ registered: 10, success: 7, pending: 2, inFlight: 1 });
    const eta = (patch: Partial<GroupView>) => progressOf(group({ counts: waiting, ...patch })).etaMs;
    expect(eta({ settledPerSecond: 7 })).toBe(429);
    expect(eta({ settledPerSecond: 0 })).toBeNull();
    expect(eta({ settledPerSecond: 7, paused: true })).toBeNull();
    for (const status of ['COMPLETED', 'FAILED', 'CANCELLED'] as const)
      expect(eta({ status, paused: true })).toBe(0);
  });

  it('bulk-action BA-13: done + pending + inFlight = registered, and percent never leaves 0 to 100 nor reaches it early', () => {
    const amount = fc.nat(300_000);
    fc.assert(
      fc.property(
        fc.tuple(amount, amount, amount, amount, amount),
        fc.constantFrom(...Object.values(GroupStatus)),
        fc.boolean(),
        fc.double({ min: 0, max: 10_000, noNaN: true }),
        ([success, failed, cancelled, pending, inFlight], status, paused, settledPerSecond) => {
          const registered = success + failed + cancelled + pending + inFlight;
          const held = counts({ registered, success, failed, cancelled, pending, inFlight });
          const progress = progressOf(group({ status, paused, settledPerSecond, counts: held }));
          expect(progress.done + progress.pending + progress.inFlight).toBe(progress.registered);
          expect(progress.total).toBe(registered);
          expect(progress.progressPercent).toBeGreaterThanOrEqual(0);
          expect(progress.progressPercent).toBeLessThanOrEqual(100);
          const all = registered > 0 ? progress.done === registered : hasEnded(status);
          expect(progress.progressPercent === 100).toBe(all);
          if (progress.etaMs !== null) expect(progress.etaMs).toBeGreaterThanOrEqual(0);
          if (hasEnded(status)) expect(progress.etaMs).toBe(0);
        },
      ),
    );
  });

  it('bulk-action BA-13: percent never falls as jobs end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.nat(), fc.nat(), (registered, one, other) => {
        const [less, more] = [one % (registered + 1), other % (registered + 1)].sort((a, b) => a - b);
        expect(percent(less as number, registered)).toBeLessThanOrEqual(percent(more as number, registered));
      }),
    );
  });
});
