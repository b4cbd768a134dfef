import { describe, expect, it } from 'vitest';
import { decodeChunk, encodeChunk } from '../../../src/next/engine/format/chunk.js';
import { addressOf } from '../../../src/next/engine/state/position.js';
import type { Resource } from '../../../src/next/engine/state/records.js';
import { explain } from '../../../src/next/engine/views/explain.js';
import { newCongestion } from '../../../src/rules/congestion.js';
import { newJob } from '../engine/store.js';
import { positionAt, Scene } from './scene.js';

describe('explain names the gate that is closed:', () => {
  it('none for a job that starts with the next commit', () => {
    const scene = new Scene();
    scene.instance('a', 1);
    scene.submit('x/g', 1);
    scene.commit();
    scene.settle();
    scene.submit('x/h', 2);
    // The first commit only asks for the chunk.
    expect(scene.gates('x/h')).toEqual([{ gate: 'TURN', detail: 'The job is being loaded' }]);
    const commit = scene.engine.commit(scene.nowUs);
    if (commit) scene.store.write(commit, scene.engine, scene.nowUs);
    expect(scene.gates('x/h')).toEqual([]);
    expect(scene.commit()).toMatchObject([{ groupId: 'x/h', position: positionAt(0) }]);
  });

  it('DONE and RUNNING', () => {
    const scene = new Scene();
    scene.instance('a', 2);
    scene.submit('x/g', 2);
    scene.commit();
    scene.settle();
    expect(scene.gates('x/g', 0)).toEqual([{ gate: 'DONE', detail: 'The job has ended as COMPLETED' }]);
    const detail = 'Attempt 1 is in flight on instance a';
    expect(scene.gates('x/g', 1)).toEqual([{ gate: 'RUNNING', detail }]);
    expect(scene.etaMs('x/g', 1)).toBe(0);
  });

  it('DONE for a job whose deadline has passed before its turn', () => {
    const scene = new Scene();
    scene.instance('a', 1);
    scene.submit('x/g', [{}, { deadlineMs: scene.nowUs / 1000 + 50 }, {}]);
    scene.commit();
    expect(scene.gateNames('x/g', 1)).toEqual(['WORKER']);
    scene.nowUs += 50_000;
    scene.commit();
    expect(scene.gateNames('x/g', 1)).toContain('DONE');
    expect(scene.etaMs('x/g', 1)).toBeNull();
    scene.settle();
    scene.commit();
    expect(scene.gates('x/g', 1)).toEqual([{ gate: 'DONE', detail: 'The job has ended as FAILED' }]);
  });

  it('PAUSED and TENANT_PAUSED, and an ETA that nobody knows', () => {
    const scene = new Scene();
    scene.instance('a', 1);
    scene.submit('x/g', 1);
    scene.submit('x/h', 1);
    scene.commit();
    scene.receive({ kind: 'pause-group', groupId: 'x/h', isPaused: true });
    expect(scene.gates('x/h')[0]).toEqual({ gate: 'PAUSED', detail: 'The group is paused; resume it' });
    expect(scene.etaMs('x/h')).toBeNull();
    scene.receive({ kind: 'pause-group', groupId: 'x/h', isPaused: false });
    expect(scene.gateNames('x/h')).toEqual(['WORKER']);
    scene.receive({ kind: 'pause-tenant', tenantId: 'x', isPaused: true });
    expect(scene.gates('x/h')[0]).toEqual({
      gate: 'TENANT_PAUSED',
      detail: "Tenant 'x' is paused; resume it",
    });
    scene.receive({ kind: 'pause-tenant', tenantId: 'x', isPaused: false });
    scene.receive({ kind: 'pause-all', isPaused: true });
    expect(scene.gates('x/h')[0]).toEqual({ gate: 'PAUSED', detail: 'All groups are paused; resume them' });
    scene.receive({ kind: 'pause-all', isPaused: false });
    scene.state.isFetching = false;
    expect(scene.gates('x/h')[0]).toEqual({ gate: 'PAUSED', detail: 'The Fetcher is stopped; start it' });
  });

  it('PAUSED for the resource that the job calls', () => {
    const scene = new Scene({ resources: { CALL: { rps: 100 } } });
    scene.instance('a', 2, ['CALL', 'T']);
    scene.receive({ kind: 'pause-resource', name: 'CALL', isPaused: true });
    scene.submit('x/g', [{ type: 'CALL' }]);
    scene.submit('x/h', 1);
    scene.commit();
    expect(scene.gateNames('x/h')).toEqual(['RUNNING']);
    expect(scene.gates('x/g')).toEqual([{ gate: 'PAUSED', detail: "Resource 'CALL' is paused; resume it" }]);
  });

  it('BACK_OFF of a retry and of a group that has not begun, with the time left', () => {
    const scene = new Scene();
    scene.instance('a', 2);
    scene.submit('x/g', 1);
    scene.commit();
    scene.settle({ kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 500, spendsRetry: true });
    scene.commit(200);
    const detail = 'TRANSIENT_ERROR, due in 300 ms';
    expect(scene.gates('x/g')).toEqual([{ gate: 'BACK_OFF', opensInMs: 300, detail }]);
    expect(scene.etaMs('x/g')).toBe(300);
    scene.submit('x/h', 1, { settings: { notBeforeMs: scene.state.nowMs + 70 } });
    scene.commit();
    expect(scene.gates('x/h')[0]).toEqual({
      gate: 'BACK_OFF',
      opensInMs: 70,
      detail: 'SCHEDULED, due in 70 ms',
    });
  });

  it('ORDERED while another job of the group has its turn', () => {
    const scene = new Scene();
    scene.instance('a', 5);
    scene.submit('x/g', 3, { settings: { isOrdered: true } });
    scene.commit();
    expect(scene.gateNames('x/g', 1)).toEqual(['ORDERED']);
    expect(scene.gateNames('x/g', 2)).toEqual(['ORDERED', 'TURN']);
    scene.settle({ kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 500, spendsRetry: true });
    scene.commit();
    expect(scene.gateNames('x/g', 0)).toEqual(['BACK_OFF']);
    expect(scene.gateNames('x/g', 1)).toContain('ORDERED');
  });

  it('NO_PROCESSOR and WORKER, which names the type', () => {
    const scene = new Scene();
    scene.instance('a', 1, ['T']);
    scene.submit('x/g', 2);
    scene.commit();
    const detail = "0 of 1 slots of the instances that run 'T' are free";
    expect(scene.gates('x/g', 1)).toEqual([{ gate: 'WORKER', detail }]);
    scene.submit('y/g', [{ type: 'OTHER' }]);
    scene.commit();
    const other = scene.gates('y/g').find(({ gate }) => gate === 'NO_PROCESSOR');
    expect(other?.detail).toBe("No live worker has processor 'OTHER'");
  });

  it('GROUP_CAP, TENANT_CAP and RESOURCE_CAP', () => {
    const scene = new Scene({ resources: { CALL: { concurrency: 1 } } });
    scene.instance('a', 9, ['T', 'CALL']);
    scene.submit('x/g', 2, { settings: { concurrency: 1 } });
    scene.receive({ kind: 'update-tenant', tenantId: 'y', update: { concurrency: 1 } });
    scene.submit('y/g', 2);
    scene.submit('z/g', [{ type: 'CALL' }, { type: 'CALL' }]);
    scene.commit();
    const detail = 'Ready or running jobs of the group: 1, cap 1';
    expect(scene.gates('x/g', 1)).toEqual([{ gate: 'GROUP_CAP', detail }]);
    expect(scene.gateNames('y/g', 1)).toEqual(['TENANT_CAP']);
    expect(scene.gateNames('z/g', 1)).toEqual(['RESOURCE_CAP']);
  });

  it('GROUP_RATE, TENANT_RATE, RESOURCE_RATE and GLOBAL_RATE, with the time of the next token', () => {
    const scene = new Scene({ resources: { CALL: { rps: 4 } } });
    scene.instance('a', 9, ['T', 'CALL']);
    scene.submit('x/g', 2, { settings: { rps: 5 } });
    scene.receive({ kind: 'update-tenant', tenantId: 'y', update: { rps: 10 } });
    scene.submit('y/g', 2);
    scene.submit('z/g', [{ type: 'CALL' }, { type: 'CALL' }]);
    scene.commit();
    scene.commit(40);
    const detail = '5 per second; the next token comes in 160 ms';
    expect(scene.gates('x/g', 1)).toEqual([{ gate: 'GROUP_RATE', opensInMs: 160, detail }]);
    expect(scene.etaMs('x/g', 1)).toBe(160);
    expect(scene.gates('y/g', 1)).toMatchObject([{ gate: 'TENANT_RATE', opensInMs: 60 }]);
    expect(scene.gates('z/g', 1)).toMatchObject([{ gate: 'RESOURCE_RATE', opensInMs: 210 }]);
    scene.receive({ kind: 'update-global', update: { rps: 1, burst: 1 } });
    scene.submit('w/g', 2);
    scene.commit();
    expect(scene.gates('w/g', 1)).toMatchObject([{ gate: 'GLOBAL_RATE', opensInMs: 1_000 }]);
  });

  it('RESOURCE_FROZEN and GROUP_FROZEN when a service asks for a pause', () => {
    const scene = new Scene({ resources: { CALL: {} } });
    scene.instance('a', 1, ['CALL']);
    scene.submit('x/g', [{ type: 'CALL' }, { type: 'CALL' }]);
    scene.commit();
    const { congestion } = scene.state.resources.get('CALL') as Resource;
    congestion.frozenAtMs = scene.state.nowMs;
    congestion.frozenForMs = 700;
    const detail = "'CALL' asked all callers to pause for 700 ms";
    expect(scene.gates('x/g', 1)[0]).toEqual({ gate: 'RESOURCE_FROZEN', opensInMs: 700, detail });
    congestion.frozenForMs = 0;
    const slow = {
      ...newCongestion(),
      frozenAtMs: scene.state.nowMs,
      frozenForMs: 90,
      rps: 2,
      ceilingRps: 4,
    };
    const resource = scene.state.resources.get('CALL') as Resource;
    scene.group('x/g').slow = {
      resource,
      flips: resource.flips,
      congestion: slow,
      rate: undefined,
      frozenUntilMs: 0,
    };
    expect(scene.gates('x/g', 1)[0]).toMatchObject({ gate: 'GROUP_FROZEN', opensInMs: 90 });
    expect(scene.gateNames('x/g', 1)).toContain('GROUP_SLOWED');
  });

  it('READY_FULL and TURN, with what comes first', () => {
    const scene = new Scene({ workerPool: { fetchBatchSize: 2 } });
    scene.submit('x/g', 3);
    scene.submit('x/h', 1);
    scene.submit('y/g', 1);
    scene.commit();
    expect(scene.state.readyJobs).toBe(2);
    const [full, turn] = scene.gates('x/g', 2).filter(({ gate }) => gate !== 'NO_PROCESSOR');
    expect(full).toEqual({ gate: 'READY_FULL', detail: '2 ready jobs wait for workers, the most is 2' });
    const counts = 'Ahead of it: 1 job of its group, 1 group of its tenant, 0 tenants';
    expect(turn).toEqual({ gate: 'TURN', detail: counts });
  });

  it('MIN_SHARE and MAX_SHARE', () => {
    const scene = new Scene({ fairQueue: { maxShare: 0.5 } });
    scene.instance('a', 4);
    scene.receive({ kind: 'update-tenant', tenantId: 'x', update: { minShare: 0.5 } });
    scene.submit('y/g', 9);
    scene.commit();
    expect(scene.gateNames('y/g', 8)).not.toContain('MAX_SHARE');
    scene.submit('y/h', 1);
    scene.submit('x/g', 9);
    scene.commit();
    const names = scene.gateNames('y/g', 8);
    expect(names).toContain('MAX_SHARE');
    const detail = 'Tenants below their minimum share come first: 1';
    expect(scene.gates('y/h')).toContainEqual({ gate: 'MIN_SHARE', detail });
    expect(scene.gateNames('x/g', 8)).not.toContain('MIN_SHARE');
  });

  it('WORKER for a ready job behind others', () => {
    const scene = new Scene({ workerPool: { fetchBatchSize: 2 } });
    scene.submit('x/g', 2);
    scene.commit();
    scene.instance('a', 1);
    expect(scene.gateNames('x/g', 0)).toEqual([]);
    const detail = "1 of 1 slots of the instances that run 'T' are free, 1 ready job ahead of it";
    expect(scene.gates('x/g', 1)).toEqual([{ gate: 'WORKER', detail }]);
  });
});

describe('explain of a job whose chunk is not loaded', () => {
  it('knows its place, and its type once the chunk is given', () => {
    const scene = new Scene();
    scene.instance('a', 1, ['OTHER']);
    scene.submit('x/g', 640);
    scene.commit();
    const group = scene.group('x/g');
    const told = explain(scene.state, group, positionAt(600));
    expect(group.chunks.has(addressOf(positionAt(600)))).toBe(false);
    expect(told?.job).toEqual({
      position: positionAt(600),
      groupId: 'x/g',
      tenant: 'x',
      priority: 5,
      status: 'PENDING',
      place: 'LANE',
      retryCount: 0,
      orphanCount: 0,
      attempts: 0,
    });
    // 64 of the 600 before it wait in non-ready for a processor.
    expect(told?.position.jobsAhead).toBeGreaterThan(526);
    expect(told?.position.jobsAhead).toBeLessThanOrEqual(536);
    expect(explain(scene.state, group, positionAt(640))).toBeUndefined();
    const text = encodeChunk([newJob(), newJob({ id: 'mine' })], { createdMs: 7 });
    const chunk = decodeChunk(addressOf(positionAt(576)), text);
    expect(explain(scene.state, group, positionAt(577), chunk)?.job).toMatchObject({
      id: 'mine',
      createdAt: 7,
    });
    expect(explain(scene.state, group, positionAt(577), chunk)?.gates.map(({ gate }) => gate)).toContain(
      'NO_PROCESSOR',
    );
  });
});
