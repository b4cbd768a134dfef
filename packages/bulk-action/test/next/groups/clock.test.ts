import { describe, expect, it } from 'vitest';
import { Stage } from './stage.js';

const HOUR_US = 3_600_000_000;

function jump(stage: Stage, deltaUs: number): void {
  stage.nowUs += deltaUs;
  stage.engine.clockJump(deltaUs, stage.nowUs);
  stage.run();
}

describe('after the clock has gone back an hour', () => {
  it('everything with a rate goes on within a second', () => {
    const stage = new Stage({ backpressure: { globalRps: 4 }, resources: { api: { rps: 2 } } });
    const calls = { types: ['T', 'U'], resources: { U: 'api' } };
    stage.receive({ kind: 'instance', id: 'a', slots: 100, ...calls });
    stage.ask({ kind: 'update-tenant', tenantId: 'x', update: { rps: 2 } });
    stage.submit('x/g', [{ cost: 5 }, {}, {}]);
    stage.submit('y/g', 9, { settings: { rps: 1 } });
    stage.submit('z/g', [{ type: 'U' }, { type: 'U' }, { type: 'U' }]);
    for (let at = 0; at < 30; at++) stage.run(100);
    jump(stage, -HOUR_US);
    stage.takeOver();
    stage.receive({ kind: 'instance', id: 'a', slots: 100, ...calls });
    const before = stage.held.length;
    for (let at = 0; at < 10; at++) stage.run(100);
    expect(stage.held.length - before).toBeGreaterThanOrEqual(3);
  });

  it('no bucket is emptier than empty', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    stage.submit('x/g', [{ cost: 10 }], { settings: { rps: 1, burst: 2 } });
    stage.run();
    expect(stage.group('x/g').rate?.tatUs).toBe(stage.nowUs + 10_000_000);
    jump(stage, -HOUR_US);
    expect(stage.group('x/g').rate?.tatUs).toBe(stage.nowUs + 2_000_000);
  });

  it('a retry waits no longer than before, and a job with notBefore until its time', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    const notBeforeMs = stage.nowMs + 5_000;
    stage.submit('x/later', 1, { settings: { notBeforeMs } });
    stage.submit('x/g', 1);
    const [job] = stage.run();
    const outcome = { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 2_000, spendsRetry: true } as const;
    if (job) stage.engine.settle('a', { ...job, durationMs: 1, outcome }, stage.nowUs);
    stage.run();
    jump(stage, -HOUR_US);
    expect(stage.engine.wakeUs).toBe(stage.nowUs + 2_000_000);
    stage.takeOver();
    stage.instance('a', 1);
    expect(stage.run(1_999)).toEqual([]);
    expect(stage.run(1)).toMatchObject([{ groupId: 'x/g', attempt: 2 }]);
    stage.settle();
    stage.run(HOUR_US / 1000 + 2_999);
    expect(stage.group('x/later').status).toBe('CREATED');
    stage.run(1);
    expect(stage.group('x/later').status).toBe('RUNNING');
  });

  it('a group times out after the same quiet time, and its deadline stays', () => {
    const stage = new Stage();
    const deadlineMs = stage.nowMs + 5_000;
    stage.submit('x/g', 1, { settings: { timeoutMs: 1_000 } });
    stage.submit('x/h', 1, { settings: { deadlineMs, timeoutMs: 1e9 } });
    stage.run(600);
    jump(stage, -HOUR_US);
    stage.takeOver();
    stage.run(399);
    expect(stage.group('x/g').status).toBe('CREATED');
    stage.run(1);
    expect(stage.group('x/g').code).toBe('GROUP_TIMEOUT');
    expect(stage.engine.wakeUs).toBe(deadlineMs * 1000);
  });
});

it('a jump ahead fails no group by its timeout and fills no bucket', () => {
  const stage = new Stage();
  stage.instance('a', 10);
  stage.submit('x/g', 9, { settings: { timeoutMs: 1_000, rps: 2, burst: 2 } });
  expect(stage.run()).toHaveLength(2);
  jump(stage, HOUR_US);
  stage.takeOver();
  stage.instance('a', 10);
  expect(stage.run(499)).toHaveLength(0);
  expect(stage.run(1)).toHaveLength(1);
  expect(stage.group('x/g').status).toBe('RUNNING');
});
