import { describe, expect, it } from 'vitest';
import { OPEN, Stage } from './stage.js';

describe('a sealable group', () => {
  it('goes from CREATED over DISPATCHED and RUNNING to COMPLETED', () => {
    const stage = new Stage();
    stage.submit('x/g', 2);
    expect(stage.group('x/g').status).toBe('CREATED');
    stage.submit('x/g', 0, { isSealed: true });
    expect(stage.group('x/g').status).toBe('DISPATCHED');
    stage.instance('a', 1);
    stage.run();
    expect(stage.group('x/g').status).toBe('RUNNING');
    stage.settle();
    stage.run();
    expect(stage.group('x/g').status).toBe('RUNNING');
    stage.settle();
    expect(stage.group('x/g')).toMatchObject({ status: 'COMPLETED', success: 2, round: 1 });
    stage.run();
    stage.takeOver();
  });

  it('completes when it is sealed empty, and not before its seal', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    stage.submit('x/g', 0);
    stage.submit('x/h', 1);
    stage.run();
    stage.settle();
    stage.run();
    expect([stage.group('x/g').status, stage.group('x/h').status]).toEqual(['CREATED', 'RUNNING']);
    stage.submit('x/g', 0, { isSealed: true });
    stage.submit('x/h', 0, { isSealed: true });
    expect([stage.group('x/g').status, stage.group('x/h').status]).toEqual(['COMPLETED', 'COMPLETED']);
  });

  it('cancels jobs that come after a cut round and counts them beside it', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    stage.submit('x/g', 3);
    stage.run();
    stage.ask({ kind: 'cancel-group', groupId: 'x/g' });
    stage.submit('x/g', 70);
    expect(stage.run(10)).toEqual([]);
    expect(stage.group('x/g')).toMatchObject({ status: 'CANCELLED', registered: 3, cancelled: 3, late: 70 });
    expect(stage.engine.state.shard.pending).toBe(0);
    // A later round must not begin with them.
    const [queue] = stage.group('x/g').queues.filter((each) => each !== undefined);
    expect(queue).toMatchObject({ next: queue?.tail, cursor: queue?.tail });
    stage.takeOver();
    expect(stage.run(10)).toEqual([]);
  });
});

describe('an open group', () => {
  function openStage(): Stage {
    const stage = new Stage();
    stage.instance('a', 10);
    stage.submit('x/g', 2, OPEN);
    stage.run();
    return stage;
  }

  it('ends its round when its last job has been done for idleCompleteMs', () => {
    const stage = openStage();
    stage.settle();
    stage.run(999);
    expect(stage.group('x/g').status).toBe('RUNNING');
    stage.takeOver();
    stage.run(1);
    expect(stage.group('x/g')).toMatchObject({ status: 'COMPLETED', round: 1, success: 2 });
  });

  it('goes on when a job comes in time', () => {
    const stage = openStage();
    stage.settle();
    stage.run(999);
    stage.submit('x/g', 1);
    stage.run(1_500);
    expect(stage.group('x/g')).toMatchObject({ status: 'RUNNING', round: 1, registered: 3 });
  });

  it('opens the next round with fresh counters, also after it was cancelled', () => {
    const stage = openStage();
    stage.settle();
    stage.run(1_000);
    stage.submit('x/g', 1);
    const fresh = { status: 'CREATED', registered: 1, success: 0, failed: 0, startedMs: undefined };
    expect(stage.group('x/g')).toMatchObject({
      ...fresh,
      round: 2,
      durations: { count: 0 },
      code: undefined,
    });
    expect(stage.run()).toHaveLength(1);
    stage.ask({ kind: 'cancel-group', groupId: 'x/g' });
    stage.submit('x/g', 1);
    expect(stage.group('x/g')).toMatchObject({ ...fresh, round: 3, cancelled: 0, late: 0 });
    stage.run();
    stage.takeOver();
    expect(stage.held).toHaveLength(2);
    expect(stage.settle()).toBe(1);
  });

  it('never times out without an unfinished job, and neither does it miss its deadline', () => {
    const stage = new Stage();
    const deadlineMs = stage.nowMs + 1_500;
    stage.submit('x/g', 0, { settings: { isSealable: false, timeoutMs: 100, deadlineMs } });
    stage.run(10_000);
    expect(stage.group('x/g').status).toBe('CREATED');
  });
});
