import { describe, expect, it } from 'vitest';
import { Stage } from './stage.js';

const SHORT = { settings: { timeoutMs: 1_000 } };

describe('the watcher', () => {
  it('fails a group without progress for its timeout', () => {
    const stage = new Stage();
    stage.submit('x/g', 2, SHORT);
    stage.run(900);
    stage.instance('a', 1);
    stage.run();
    stage.run(999);
    expect(stage.group('x/g').status).toBe('RUNNING');
    stage.run(1);
    const ended = { status: 'FAILED', code: 'GROUP_TIMEOUT', cancelled: 2 };
    expect(stage.group('x/g')).toMatchObject(ended);
    expect(stage.mail.get('a')?.map(({ kind }) => kind)).toEqual(['recall', 'abort']);
    stage.takeOver();
    expect(stage.settle()).toBe(0);
  });

  it('counts settlements and submits as progress', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    stage.submit('x/g', 3, SHORT);
    stage.run(900);
    stage.settle();
    stage.run(900);
    stage.submit('x/g', 1);
    stage.run(900);
    expect(stage.group('x/g').status).toBe('RUNNING');
  });

  it('fails a group at its deadline, with or without progress, paused or not', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    const deadlineMs = stage.nowMs + 500;
    stage.submit('x/g', 2, { settings: { deadlineMs } });
    stage.submit('x/h', 2, { settings: { deadlineMs } });
    stage.ask({ kind: 'pause-group', groupId: 'x/h', isPaused: true });
    stage.run(499);
    expect(stage.group('x/g').status).toBe('RUNNING');
    stage.run(1);
    for (const id of ['x/g', 'x/h'])
      expect(stage.group(id)).toMatchObject({ status: 'FAILED', code: 'DEADLINE_EXCEEDED' });
  });

  it('does not count the time of a pause, but what was quiet before it', () => {
    const stage = new Stage();
    stage.submit('x/g', 1, SHORT);
    stage.run(600);
    stage.ask({ kind: 'pause-group', groupId: 'x/g', isPaused: true });
    stage.takeOver();
    stage.run(5_000);
    stage.ask({ kind: 'pause-group', groupId: 'x/g', isPaused: false });
    stage.takeOver();
    stage.run(399);
    expect(stage.group('x/g').status).toBe('CREATED');
    stage.run(1);
    expect(stage.group('x/g').status).toBe('FAILED');
  });

  it.each([
    ['its tenant', { kind: 'pause-tenant', tenantId: 'x' }],
    ['everything', { kind: 'pause-all' }],
  ] as const)('does not fail a group while %s is paused', (_, pause) => {
    const stage = new Stage();
    stage.submit('x/g', 1, SHORT);
    stage.run(600);
    stage.ask({ ...pause, isPaused: true });
    stage.run(5_000);
    stage.run(300);
    stage.ask({ ...pause, isPaused: false });
    stage.run(999);
    expect(stage.group('x/g').status).toBe('CREATED');
    stage.run(1);
    expect(stage.group('x/g').status).toBe('FAILED');
  });

  it('starts nothing of a group before its notBefore, and starts it then', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    const notBeforeMs = stage.nowMs + 5_000;
    stage.submit('x/g', 1, { settings: { notBeforeMs, timeoutMs: 1_000 } });
    expect(stage.run(4_999)).toEqual([]);
    expect(stage.engine.wakeUs).toBe(notBeforeMs * 1000);
    stage.takeOver();
    stage.instance('a', 1);
    expect(stage.run(1)).toHaveLength(1);
  });
});

describe('the wake-up time', () => {
  it('is that of the next timeout, idle end, token and retry', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    stage.submit('x/g', 1, SHORT);
    stage.run();
    expect(stage.engine.wakeUs).toBe(stage.nowUs + 1_000_000);
    stage.submit('x/open', 1, { settings: { isSealable: false, rps: 10, burst: 1 } });
    stage.settle();
    stage.submit('x/open', 1);
    stage.run();
    stage.settle();
    stage.run();
    // A token of ten per second.
    expect(stage.engine.wakeUs).toBe(stage.nowUs + 100_000);
    stage.run(100);
    stage.settle();
    stage.run();
    expect(stage.group('x/open').pending).toBe(0);
    stage.submit('x/g', 0, { isSealed: true });
    stage.run();
    expect(stage.engine.wakeUs).toBe(stage.nowUs + 1_000_000);
    stage.run(1_000);
    expect(stage.group('x/open').status).toBe('COMPLETED');
    expect(stage.engine.wakeUs).toBe(Infinity);
  });

  it('is never in the past while everything is paused', () => {
    const stage = new Stage({ backpressure: { globalRps: 10 } });
    stage.instance('a', 1);
    stage.submit('x/g', 1);
    stage.ask({ kind: 'pause-all', isPaused: true });
    stage.run(1_000);
    expect(stage.engine.wakeUs).toBeGreaterThan(stage.nowUs);
  });
});
