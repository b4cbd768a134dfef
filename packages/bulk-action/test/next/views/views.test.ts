import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../../src/next/engine/state/chunks.js';
import type { Group } from '../../../src/next/engine/state/records.js';
import { congestionView, groupCongestion } from '../../../src/next/engine/views/congestion-view.js';
import { groupView, progressOf, runningResult } from '../../../src/next/engine/views/group-view.js';
import { jobView, listJobs } from '../../../src/next/engine/views/job-view.js';
import { queuesView } from '../../../src/next/engine/views/queues-view.js';
import { fairness, tenantView } from '../../../src/next/engine/views/tenant-view.js';
import { positionAt, Scene } from './scene.js';

const RETRY = { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 500, spendsRetry: true } as const;

describe('a group', () => {
  it('counts its jobs by place', () => {
    const scene = new Scene();
    scene.instance('a', 3);
    scene.submit('x/g', 10, { settings: { weight: 2, rps: 100, concurrency: 5 } });
    scene.commit();
    scene.settle();
    scene.settle(RETRY);
    const group = scene.group('x/g');
    expect(groupView(scene.state, group)).toMatchObject({
      id: 'x/g',
      tenant: 'x',
      weight: 2,
      rps: 100,
      burst: 10,
      concurrency: 5,
      status: 'RUNNING',
      sealed: false,
      ordered: false,
      sealable: true,
      counts: {
        registered: 10,
        success: 1,
        failed: 0,
        cancelled: 0,
        pending: 8,
        inFlight: 1,
        nonReady: 1,
        ready: 0,
      },
    });
    expect(progressOf(scene.state, group)).toMatchObject({
      ...{ total: 10, registered: 10, done: 1, success: 1, pending: 8, inFlight: 1, nonReady: 1 },
      ...{ progressPercent: 10, status: 'RUNNING', round: 1 },
    });
  });

  it('has no ETA while its tenant is paused, and 0 once it has ended', () => {
    const scene = new Scene();
    scene.instance('a', 1);
    scene.submit('x/g', 2, { isSealed: true });
    scene.commit();
    scene.settle();
    expect(progressOf(scene.state, scene.group('x/g')).etaMs).toBeGreaterThan(0);
    scene.receive({ kind: 'pause-tenant', tenantId: 'x', isPaused: true });
    expect(progressOf(scene.state, scene.group('x/g')).etaMs).toBeNull();
    scene.receive({ kind: 'pause-tenant', tenantId: 'x', isPaused: false });
    scene.commit();
    scene.settle();
    scene.commit();
    expect(progressOf(scene.state, scene.group('x/g'))).toMatchObject({ etaMs: 0, progressPercent: 100 });
  });

  it('says that it completed with failures, and which', () => {
    const scene = new Scene();
    scene.instance('a', 3);
    scene.submit('x/g', 3, { isSealed: true });
    scene.commit();
    scene.settle({ kind: 'success' }, 10);
    for (const durationMs of [20, 30]) scene.settle({ kind: 'failure', code: 'BROKEN' } as never, durationMs);
    scene.commit();
    const group = scene.group('x/g');
    expect(groupView(scene.state, group)).toMatchObject({
      status: 'COMPLETED',
      counts: { success: 1, failed: 2 },
    });
    expect(progressOf(scene.state, group)).toMatchObject({ status: 'COMPLETED', failed: 2, done: 3 });
    expect(runningResult(group)).toMatchObject({
      ...{ groupId: 'x/g', tenant: 'x', round: 1, total: 3, success: 1, failed: 2, cancelled: 0 },
      failedByCode: { BROKEN: 2 },
      successRate: 1 / 3,
      averageDurationMs: 20,
      durations: { count: 3, min: 10, max: 30 },
    });
  });
});

describe('jobs of a group', () => {
  const listed = (group: Group, options: Partial<Parameters<typeof listJobs>[2]> = {}) =>
    listJobs(group, [...group.chunks.values()] as Chunk[], { limit: 100, ...options });

  it('are listed by position with their places', () => {
    const scene = new Scene();
    scene.instance('a', 3);
    scene.submit('x/g', [{ id: 'first' }, {}, {}, {}, {}]);
    scene.commit();
    scene.settle();
    scene.settle(RETRY);
    scene.receive({ kind: 'cancel-job', groupId: 'x/g', position: positionAt(4) });
    const { items, cursor } = listed(scene.group('x/g'));
    expect(items.map(({ id, status, place }) => [id, status, place])).toEqual([
      ['first', 'COMPLETED', 'DONE'],
      ['_2', 'PENDING', 'NON_READY'],
      ['_3', 'PROCESSING', 'IN_FLIGHT'],
      ['_4', 'PENDING', 'LANE'],
      ['_5', 'CANCELLED', 'DONE'],
    ]);
    expect(cursor).toBeUndefined();
    expect(items[1]).toMatchObject({
      retryCount: 1,
      attempts: 1,
      dueAt: scene.state.nowMs + 500,
      reason: RETRY.reason,
    });
    expect(items[2]).toMatchObject({ instanceId: 'a', startedAt: scene.state.nowMs, payload: '{}' });
  });

  it('are listed by page, and by status', () => {
    const scene = new Scene();
    scene.instance('a', 40);
    scene.submit('x/g', 70);
    scene.commit();
    const group = scene.group('x/g');
    const first = listed(group, { limit: 60 });
    const second = listed(group, { limit: 60, from: first.cursor });
    const ids = [...first.items, ...second.items].map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 70 }, (_, at) => `_${at + 1}`));
    expect(second.cursor).toBeUndefined();
    expect(listed(group, { status: 'PROCESSING' }).items.map(({ id }) => id)).toEqual(ids.slice(0, 40));
  });

  it('reads at most 1,000 positions for a page', () => {
    const scene = new Scene();
    scene.submit('x/g', 64);
    scene.commit();
    const group = scene.group('x/g');
    const chunk = group.chunks.get(positionAt(0) / 64) as Chunk;
    const chunks = Array.from({ length: 20 }, (_, at) => ({ ...chunk, address: chunk.address + at }));
    expect(listJobs(group, chunks, { limit: 5_000, status: 'FAILED' })).toEqual({
      items: [],
      cursor: positionAt(1_000),
    });
  });

  it('have no status once their chunk is gone, and are undefined where none was registered', () => {
    const scene = new Scene();
    scene.instance('a', 2);
    scene.submit('x/g', 2);
    scene.commit();
    scene.settle();
    scene.settle();
    scene.commit();
    const group = scene.group('x/g');
    expect(jobView(group, positionAt(0))).toMatchObject({ place: 'DONE' });
    expect(jobView(group, positionAt(0))?.status).toBeUndefined();
    expect(jobView(group, positionAt(64))).toBeUndefined();
    expect(jobView(group, positionAt(0, 9))).toBeUndefined();
  });
});

describe('tenants', () => {
  it('show what they get and what they are entitled to, minimums included', () => {
    const scene = new Scene();
    scene.instance('a', 8);
    scene.receive({ kind: 'update-tenant', tenantId: 'x', update: { minShare: 0.5 } });
    scene.receive({ kind: 'update-tenant', tenantId: 'y', update: { weight: 3 } });
    for (const tenant of ['x', 'y', 'z']) scene.submit(`${tenant}/g`, 20);
    scene.commit();
    const shares = fairness(scene.state, 10);
    const fair = Object.fromEntries(shares.map(({ id, fairShare }) => [id, fairShare]));
    expect(fair).toEqual({ x: 0.5, y: 0.375, z: 0.125 });
    expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    expect(fairness(scene.state, 1)).toHaveLength(1);
    const x = tenantView(scene.state, scene.tenant('x'));
    expect(x).toMatchObject({ minShare: 0.5, paused: false, groups: 1 });
    expect(x.pending + x.inFlight).toBe(20);
  });
});

describe('queues', () => {
  it('count every job once, and the workers that are wanted', () => {
    const scene = new Scene();
    scene.instance('a', 2);
    scene.submit('y/capped', 7, { settings: { concurrency: 2 } });
    scene.commit();
    scene.settle(RETRY);
    scene.submit('x/paused', 7);
    scene.receive({ kind: 'pause-group', groupId: 'x/paused', isPaused: true });
    scene.commit();
    scene.submit('x/g', 10);
    scene.submit('z/rate', 7, { settings: { rps: 10, burst: 3 } });
    scene.commit();
    const view = queuesView(scene.state);
    expect(view).toMatchObject({
      inFlight: 2,
      ready: 0,
      nonReady: 1,
      lane: 28,
      queuedJobs: 29,
      tenants: 3,
      groups: 4,
    });
    expect(view.nonReadyByReason).toMatchObject({ TRANSIENT_ERROR: 1, SCHEDULED: 0 });
    expect(view).toMatchObject({ liveSlots: 2, waitingSlots: 0, readyBound: 0, deadLetters: 0 });
    // 2 of y/capped run and fill its cap; 10 of x/g can run, and 3 of z/rate have tokens.
    expect(view.wantedWorkers).toBe(15);
    scene.receive({ kind: 'update-tenant', tenantId: 'x', update: { concurrency: 4 } });
    expect(queuesView(scene.state).wantedWorkers).toBe(9);
    scene.receive({ kind: 'update-global', update: { rps: 10, burst: 5 } });
    expect(queuesView(scene.state).wantedWorkers).toBe(7);
    scene.receive({ kind: 'pause-all', isPaused: true });
    expect(queuesView(scene.state).wantedWorkers).toBe(2);
  });

  it('say how long the first in line has waited', () => {
    const scene = new Scene();
    scene.instance('a', 1);
    scene.submit('x/g', 1);
    scene.commit();
    expect(queuesView(scene.state).oldestWaitingMs).toBe(0);
    scene.settle(RETRY);
    scene.instance('a', 0);
    scene.commit();
    scene.nowUs += 3_500_000;
    scene.receive();
    expect(queuesView(scene.state).oldestWaitingMs).toBe(3_000);
    scene.commit();
    expect(scene.group('x/g').ready).toHaveLength(1);
    expect(queuesView(scene.state).oldestWaitingMs).toBe(3_000);
  });
});

describe('called services', () => {
  it('show their limits, configured and learnt', () => {
    const scene = new Scene({ resources: { CALL: { rps: 50, concurrency: 2 } } });
    scene.instance('a', 4, ['T', 'CALL']);
    scene.submit('x/g', [{ type: 'CALL' }, { type: 'CALL' }, { type: 'CALL' }]);
    scene.commit();
    expect(congestionView(scene.state).find(({ resource }) => resource === 'CALL')).toMatchObject({
      ...{ limit: 50, concurrency: 2, starts: 2, throttles: 0, throttlesPerJob: 0 },
      ...{ learntRps: null, paused: false, held: 2, frozenForMs: 0 },
    });
    expect(queuesView(scene.state).congestionRates).toEqual({ CALL: 50 });
    expect(groupCongestion(scene.state, scene.group('x/g'))).toMatchObject({ level: 'NONE', throttles: 0 });
  });
});
