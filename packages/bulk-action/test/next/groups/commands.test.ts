import { describe, expect, it } from 'vitest';
import { OPEN, positionAt, Stage } from './stage.js';

const DONE = { kind: 'done' };
const groupsOf = (jobs: readonly { readonly groupId: string }[]) => jobs.map(({ groupId }) => groupId);

describe('a pause', () => {
  it.each([
    ['a group', { kind: 'pause-group', groupId: 'x/g' }, ['x/h', 'y/g']],
    ['a tenant', { kind: 'pause-tenant', tenantId: 'x' }, ['y/g']],
    ['everything', { kind: 'pause-all' }, []],
  ] as const)('of %s holds back its jobs until it is resumed', (_, pause, others) => {
    const stage = new Stage();
    for (const id of ['x/g', 'x/h', 'y/g']) stage.submit(id, 1);
    stage.run();
    expect(stage.ask({ ...pause, isPaused: true })).toEqual(DONE);
    stage.takeOver();
    stage.instance('a', 10);
    expect(groupsOf(stage.run(1_000)).sort()).toEqual(others);
    expect(stage.ask({ ...pause, isPaused: false })).toEqual(DONE);
    expect(stage.held).toHaveLength(3);
  });

  it('of a resource holds back the jobs that call it', () => {
    const stage = new Stage({ resources: { api: {} } });
    const calls = { types: ['T', 'U'], resources: { U: 'api' } };
    stage.receive({ kind: 'instance', id: 'a', slots: 10, ...calls });
    expect(stage.ask({ kind: 'pause-resource', name: 'api', isPaused: true })).toEqual(DONE);
    stage.submit('x/g', [{ type: 'U' }]);
    stage.submit('x/h', [{ type: 'T' }]);
    expect(groupsOf(stage.run(1_000))).toEqual(['x/h']);
    stage.ask({ kind: 'update-resource', name: 'api', update: { isPaused: false } });
    expect(groupsOf(stage.held)).toEqual(['x/h', 'x/g']);
  });

  it('takes back turns of jobs that wait for a slot', () => {
    const stage = new Stage();
    stage.submit('x/g', 3);
    stage.run();
    expect(stage.engine.state.readyJobs).toBe(3);
    stage.ask({ kind: 'pause-group', groupId: 'x/g', isPaused: true });
    expect(stage.engine.state).toMatchObject({ readyJobs: 0, shard: { held: 0, readyCost: 0 } });
    stage.instance('a', 10);
    expect(stage.run(1_000)).toEqual([]);
  });

  it('of a tenant without jobs counts for its first ones', () => {
    const stage = new Stage();
    stage.instance('a', 10);
    expect(stage.ask({ kind: 'pause-tenant', tenantId: 'new', isPaused: true })).toEqual(DONE);
    stage.submit('new/g', 1);
    expect(stage.run()).toEqual([]);
  });
});

describe('a command', () => {
  it('says that its target is unknown or has ended, and changes nothing', () => {
    const stage = new Stage();
    stage.submit('x/g', 0, { isSealed: true });
    stage.run();
    for (const [groupId, kind] of [['x/none', 'not-found'] as const, ['x/g', 'ended'] as const]) {
      const { seq } = stage.engine.state;
      const position = positionAt(0);
      expect(stage.ask({ kind: 'cancel-group', groupId })).toEqual({ kind });
      expect(stage.ask({ kind: 'pause-group', groupId, isPaused: true })).toEqual({ kind });
      expect(stage.ask({ kind: 'update-group', groupId, update: { weight: 2 } })).toEqual({ kind });
      expect(stage.ask({ kind: 'cancel-job', groupId, position })).toEqual({ kind });
      expect(stage.ask({ kind: 'run-job', groupId, position })).toEqual({ kind });
      expect(stage.engine.state.seq).toBe(seq + 5);
    }
    expect(stage.ask({ kind: 'update-resource', name: 'no', update: { rps: 1 } })).toEqual({
      kind: 'not-found',
    });
    expect(stage.group('x/g')).toMatchObject({ status: 'COMPLETED', isPaused: false, weight: 1 });
  });

  it('is carried out once, also if its notice is repeated to another owner', () => {
    const stage = new Stage();
    stage.submit('x/g', 1);
    const cancel = { kind: 'cancel-group', groupId: 'x/g' } as const;
    expect(stage.ask(cancel, 7)).toEqual(DONE);
    stage.takeOver();
    stage.mail.clear();
    expect(stage.ask(cancel, 7)).toEqual(DONE);
    expect(stage.ask(cancel, 8)).toEqual({ kind: 'ended' });
  });

  it('is remembered for the last 1,000 nonces of an instance', () => {
    const stage = new Stage();
    for (let nonce = 1; nonce <= 1_001; nonce++)
      stage.receive({
        kind: 'notice',
        instanceId: 'b',
        nonce,
        command: { kind: 'update-tenant', tenantId: 'x', update: { weight: nonce } },
      });
    stage.run();
    stage.takeOver();
    stage.ask({ kind: 'update-tenant', tenantId: 'x', update: { weight: 5 } }, 2);
    expect(stage.engine.state.tenants.get('x')?.weight).toBe(1_001);
    stage.ask({ kind: 'update-tenant', tenantId: 'x', update: { weight: 5 } }, 1);
    expect(stage.engine.state.tenants.get('x')?.weight).toBe(5);
  });
});

describe('an update', () => {
  it('of a rate wakes what is parked, and null removes it', () => {
    const stage = new Stage();
    stage.instance('a', 100);
    stage.submit('x/g', 5, { settings: { rps: 0.1, burst: 1 } });
    expect(stage.run(1_000)).toHaveLength(1);
    stage.ask({ kind: 'update-group', groupId: 'x/g', update: { rps: 2 } });
    // The start that was spent is kept as a debt of half a second.
    expect(stage.held).toHaveLength(1);
    expect(stage.run(499)).toHaveLength(0);
    expect(stage.run(1)).toHaveLength(1);
    stage.takeOver();
    stage.instance('a', 100);
    stage.ask({ kind: 'update-group', groupId: 'x/g', update: { rps: null } });
    expect(stage.held).toHaveLength(5);
  });

  it.each([
    ['tenant', { kind: 'update-tenant', tenantId: 'x', update: { concurrency: 2 } }],
    ['group', { kind: 'update-group', groupId: 'x/g', update: { concurrency: 2 } }],
    ['resource', { kind: 'update-resource', name: 'api', update: { concurrency: 2 } }],
  ] as const)('of the concurrency of a %s counts for queued jobs', (_, command) => {
    const stage = new Stage({ resources: { api: {} } });
    stage.receive({ kind: 'instance', id: 'a', slots: 0, types: ['T'], resources: { T: 'api' } });
    stage.submit('x/g', 5);
    stage.run();
    expect(stage.ask(command)).toEqual(DONE);
    stage.receive({ kind: 'instance', id: 'a', slots: 9, types: ['T'], resources: { T: 'api' } });
    expect(stage.run()).toHaveLength(2);
    stage.ask({ ...command, update: { concurrency: null } });
    expect(stage.held).toHaveLength(5);
  });

  it('of the global rate counts at once', () => {
    const stage = new Stage();
    stage.instance('a', 100);
    stage.ask({ kind: 'update-global', update: { rps: 10 } });
    stage.submit('x/g', 5);
    expect(stage.run()).toHaveLength(1);
    expect(stage.run(100)).toHaveLength(1);
    stage.takeOver();
    expect(stage.engine.state.shard.rate).toMatchObject({ rps: 10, burst: 1 });
  });

  it('of a weight counts from the next turn on, and ready turns leave no credit', () => {
    const stage = new Stage();
    stage.submit('x/g', 400);
    stage.submit('x/h', 400);
    stage.run();
    stage.ask({ kind: 'update-group', groupId: 'x/g', update: { weight: 3 } });
    stage.instance('a', 40);
    const served = { g: 0, h: 0 };
    for (let round = 0; round < 10; round++) {
      for (const { groupId } of stage.run()) served[groupId === 'x/g' ? 'g' : 'h'] += 1;
      stage.settle();
    }
    stage.run();
    stage.takeOver();
    expect(served.g / served.h).toBeCloseTo(3, 1);
  });

  it('of a deadline and a timeout is watched at once', () => {
    const stage = new Stage();
    stage.submit('x/g', 1);
    stage.submit('x/h', 1);
    stage.ask({ kind: 'update-group', groupId: 'x/g', update: { deadlineMs: stage.nowMs + 10 } });
    stage.ask({ kind: 'update-group', groupId: 'x/h', update: { timeoutMs: 20 } });
    stage.run(10);
    expect([stage.group('x/g').code, stage.group('x/h').code]).toEqual(['DEADLINE_EXCEEDED', undefined]);
    stage.run(10);
    expect(stage.group('x/h').code).toBe('GROUP_TIMEOUT');
  });

  it('refuses minimum shares of more than everything', () => {
    const stage = new Stage();
    const share = (tenantId: string, minShare: number | null) =>
      stage.ask({ kind: 'update-tenant', tenantId, update: { minShare } });
    for (let tenant = 0; tenant < 10; tenant++) expect(share(`t${tenant}`, 0.1)).toEqual(DONE);
    expect(share('more', 0.01)).toEqual({ kind: 'refused', code: 'MIN_SHARE' });
    expect(share('t1', null)).toEqual(DONE);
    expect(share('more', 0.1)).toEqual(DONE);
  });
});

describe('cancelJob', () => {
  /** Jobs 0 to 9: 0 runs, 1 is delayed, 2 is ready, the others are queued. */
  function mixed(): Stage {
    const stage = new Stage();
    stage.instance('a', 2);
    stage.submit('x/g', 10, OPEN);
    const [, second] = stage.run();
    const outcome = { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 60_000, spendsRetry: true } as const;
    if (second) stage.engine.settle('a', { ...second, durationMs: 1, outcome }, stage.nowUs);
    stage.held.pop();
    stage.instance('a', 1);
    stage.run();
    return stage;
  }

  it('ends a job wherever it is, once', () => {
    const stage = mixed();
    for (const at of [0, 1, 2, 9]) {
      const cancel = { kind: 'cancel-job', groupId: 'x/g', position: positionAt(at) } as const;
      expect(stage.ask(cancel), `job ${at}`).toEqual(at === 0 ? undefined : DONE);
      expect(stage.ask(cancel), `job ${at}`).toEqual({ kind: 'ended' });
    }
    expect(stage.ask({ kind: 'cancel-job', groupId: 'x/g', position: positionAt(10) })).toEqual({
      kind: 'not-found',
    });
    expect(stage.group('x/g')).toMatchObject({ cancelled: 4, pending: 6 });
    const seen: number[] = [];
    stage.instance('a', 10);
    for (const { position } of stage.run(60_000)) seen.push(position);
    expect(seen).toEqual([3, 4, 5, 6, 7, 8].map(positionAt));
    stage.takeOver();
  });

  it('aborts the attempt of a running job, whose settlement is late and frees its slot', () => {
    const stage = mixed();
    const [running] = stage.held;
    stage.ask({ kind: 'cancel-job', groupId: 'x/g', position: positionAt(0) });
    const { groupId, position, attempt } = running as (typeof stage.held)[number];
    expect(stage.mail.get('a')).toContainEqual({ kind: 'abort', groupId, position, attempt });
    expect(stage.run()).toEqual([]);
    expect(stage.settle()).toBe(0);
    expect(stage.run()).toHaveLength(1);
    expect(stage.group('x/g')).toMatchObject({ success: 0, cancelled: 1 });
  });

  it('ends the group with its last job', () => {
    const stage = new Stage();
    stage.submit('x/g', 1, { isSealed: true });
    stage.ask({ kind: 'cancel-job', groupId: 'x/g', position: positionAt(0) });
    expect(stage.group('x/g')).toMatchObject({ status: 'COMPLETED', cancelled: 1 });
  });
});

describe('runJobNow', () => {
  it('gives a queued or delayed job the next turn of its group', () => {
    const stage = new Stage();
    stage.submit('x/g', 200);
    stage.instance('a', 1);
    const [first] = stage.run();
    const outcome = { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 60_000, spendsRetry: true } as const;
    stage.ask({ kind: 'run-job', groupId: 'x/g', position: positionAt(150) });
    stage.instance('a', 0);
    if (first) stage.engine.settle('a', { ...first, durationMs: 1, outcome }, stage.nowUs);
    stage.ask({ kind: 'run-job', groupId: 'x/g', position: positionAt(0) });
    stage.takeOver();
    stage.held = [];
    stage.instance('a', 1);
    const order = [];
    for (let at = 0; at < 200; at++) {
      order.push(stage.run()[0]?.position);
      stage.settle();
    }
    const expected = [0, 150, ...Array.from({ length: 199 }, (_, at) => at + 1).filter((at) => at !== 150)];
    expect(order).toEqual(expected.map(positionAt));
  });

  it('keeps the order of turns that were taken back', () => {
    const stage = new Stage();
    stage.submit('x/g', 10);
    for (const at of [0, 5, 6, 9]) stage.ask({ kind: 'run-job', groupId: 'x/g', position: positionAt(at) });
    stage.instance('a', 10);
    const order = stage.run().map(({ position }) => position);
    expect(order).toEqual([9, 6, 5, 0, 1, 2, 3, 4, 7, 8].map(positionAt));
  });

  it('is refused for a job that would pass others of an ordered group', () => {
    const stage = new Stage();
    stage.submit('x/g', 3, { settings: { isOrdered: true } });
    stage.run();
    const run = (at: number) => stage.ask({ kind: 'run-job', groupId: 'x/g', position: positionAt(at) });
    expect(run(0)).toEqual(DONE);
    expect(run(1)).toEqual({ kind: 'refused', code: 'ORDERED' });
  });
});
