import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { updateLimits, updateSlowness } from '../../../src/next/engine/congestion/limits.js';
import { groupSlowness, resourceStates } from '../../../src/next/engine/congestion/points.js';
import { type Commit, Engine } from '../../../src/next/engine/engine.js';
import { ByteWriter } from '../../../src/next/engine/format/bytes.js';
import { packSmoothing } from '../../../src/next/engine/format/smoothing.js';
import type { AttemptOutcome } from '../../../src/next/engine/run/settle.js';
import { resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import type { Group, Resource } from '../../../src/next/engine/state/records.js';
import type { BulkActionConfig } from '../../../src/options.js';
import { newCongestion } from '../../../src/rules/congestion.js';
import { newJob, StoreModel } from '../engine/store.js';

type Running = Parameters<Engine['settle']>[1] & { readonly instanceId: string; readonly type: string };

/** An engine on a store model, driven step by step. */
class Shard {
  readonly store = new StoreModel();
  readonly commits: Commit[] = [];
  engine!: Engine;
  nowMs = 1_700_000_000_000;
  running: Running[] = [];

  constructor(config: BulkActionConfig = {}, resources?: { readonly [type: string]: string }) {
    this.open(config);
    if (resources) this.see(resources);
  }

  open(config: BulkActionConfig = {}): void {
    this.engine = new Engine(
      resolveEngineConfig({ ...config, backpressure: { globalRps: 0 } }),
      seededRng('engine'),
    );
    this.engine.open(this.store.load(), this.nowMs * 1000);
  }

  see(resources: { readonly [type: string]: string }, slots = 10): void {
    const types = Object.keys(resources);
    this.engine.receive([{ kind: 'instance', id: 'a', slots, types, resources }], this.nowMs * 1000);
  }

  submit(groupId: string, jobs: number, type: string): void {
    this.store.submit(
      groupId,
      Array.from({ length: jobs }, () => newJob({ type })),
    );
    this.engine.receive(this.store.inbox.splice(0), this.nowMs * 1000);
  }

  /** Lets time pass, and commits until nothing more happens. Returns what started. */
  turn(ms = 0): Running[] {
    this.nowMs += ms;
    const before = this.running.length;
    for (let commit = this.#commit(); commit; commit = this.#commit()) {
      this.commits.push(commit);
      this.store.write(commit, this.engine, this.nowMs * 1000);
      for (const [instanceId, deliveries] of commit.deliveries)
        for (const { groupId, position, attempt, body } of deliveries)
          this.running.push({
            instanceId,
            groupId,
            position,
            attempt,
            type: body.type,
            durationMs: 5,
            outcome: { kind: 'success' },
          });
    }
    return this.running.slice(before);
  }

  settle(job: Running | undefined, outcome: AttemptOutcome = { kind: 'success' }): boolean {
    if (!job) throw new Error('no job runs');
    this.running = this.running.filter((other) => other !== job);
    return this.engine.settle(job.instanceId, { ...job, outcome }, this.nowMs * 1000);
  }

  group(id: string): Group {
    return this.engine.state.groups.get(id) as Group;
  }

  resource(name: string): Resource {
    return this.engine.state.resources.get(name) as Resource;
  }

  get waitMs(): number {
    return this.engine.wakeUs / 1000 - this.nowMs;
  }

  #commit(): Commit | undefined {
    return this.engine.commit(this.nowMs * 1000);
  }
}

const throttled = (retryAfterMs?: number): AttemptOutcome => ({ kind: 'throttled', random: 0, retryAfterMs });

/** Three groups are refused: the service refuses all. */
function refusedByAll(shard: Shard, retryAfterMs?: number): void {
  for (const id of ['x/1', 'y/1', 'z/1']) shard.submit(id, 100, 'WORK');
  shard.turn();
  for (const job of [...shard.running]) shard.settle(job, throttled(retryAfterMs));
}

describe('bulk-action BA-3: a throttled attempt', () => {
  it('spends no retry, waits as API_THROTTLED and counts, also for the next owner', () => {
    const shard = new Shard({}, { WORK: 'api' });
    shard.submit('x/1', 1, 'WORK');
    const [first] = shard.turn();
    shard.settle(first, throttled(2_000));
    expect(shard.turn()).toEqual([]);
    shard.open();
    shard.see({ WORK: 'api' });
    const group = shard.group('x/1');
    expect([...group.delayed.values()]).toMatchObject([
      { attempt: 1, retryCount: 0, reason: 'API_THROTTLED', dueMs: shard.nowMs + 2_000 },
    ]);
    expect(group).toMatchObject({ throttled: 1, lastBackoffMs: 2_000 });
    expect(shard.resource('api')).toMatchObject({ starts: 1, throttles: 1 });
    expect(shard.turn(1_999)).toEqual([]);
    // The pause ends with an empty bucket of the least rate, one a second.
    expect(shard.turn(1_010)).toMatchObject([{ attempt: 2, groupId: 'x/1' }]);
  });

  it('waits for the base backoff and a second for each second of work that waits already', () => {
    const shard = new Shard({ congestion: { enabled: false, baseBackoffMs: 500 } }, { WORK: 'api' });
    shard.submit('x/1', 10, 'WORK');
    const dues = shard.turn().map((job) => {
      shard.settle(job, { kind: 'throttled', random: 0.5 });
      const job0 = shard.group('x/1').delayed.get(job.position);
      return (job0?.dueMs ?? 0) - shard.nowMs;
    });
    expect(dues.slice(0, 3)).toEqual([625, 1_875, 3_125]);
    expect(shard.group('x/1').lastBackoffMs).toBe(9_500);
  });
});

describe('bulk-action BA-3: resources', () => {
  it('keep their numbers, whatever the next owner configures', () => {
    const shard = new Shard(
      { resources: { b: { concurrency: 1 }, a: {} } },
      { WORK: 'api', B: 'b', OTHER: 'OTHER' },
    );
    shard.submit('x/1', 1, 'WORK');
    shard.submit('x/2', 1, 'B');
    shard.submit('x/3', 1, 'OTHER');
    shard.turn();
    const numbers = () =>
      [...shard.engine.state.resources.values()].map(({ name, number }) => [name, number]);
    const before = numbers();
    shard.open({ resources: { first: {}, a: {}, b: { concurrency: 1 } } });
    expect(numbers()).toEqual([...before, ['first', expect.any(Number)]]);
    const called = ['x/1', 'x/2', 'x/3'].map(
      (id) => [...shard.group(id).inFlight.values()][0]?.resource?.name,
    );
    expect(called).toEqual(['api', 'b', 'OTHER']);
    expect(shard.resource('b').held).toBe(1);
  });

  it('are named by the type if a processor names none, so that its configured limits hold', () => {
    const shard = new Shard({ resources: { WORK: { concurrency: 2 } } });
    shard.engine.receive([{ kind: 'instance', id: 'a', slots: 10, types: ['WORK'] }], shard.nowMs * 1000);
    shard.submit('x/1', 5, 'WORK');
    expect(shard.turn()).toHaveLength(2);
  });

  it('at their cap hold back only their own line, which goes on when a job of them ends', () => {
    const shard = new Shard({ resources: { api: { concurrency: 1 } } }, { WORK: 'api', FREE: 'free' });
    shard.submit('x/1', 2, 'WORK');
    shard.submit('x/2', 2, 'FREE');
    const started = shard.turn();
    expect(started.map(({ type }) => type).sort()).toEqual(['FREE', 'FREE', 'WORK']);
    expect(shard.waitMs, 'until a job ends, or the group times out').toBeGreaterThan(60_000);
    shard.settle(started.find(({ type }) => type === 'WORK'));
    expect(shard.turn()).toMatchObject([{ type: 'WORK' }]);
  });

  it('without a token say when their next one comes', () => {
    const shard = new Shard({ resources: { api: { rps: 10 } } }, { WORK: 'api', FREE: 'free' });
    shard.submit('x/1', 5, 'WORK');
    shard.submit('x/2', 1, 'FREE');
    expect(
      shard
        .turn()
        .map(({ type }) => type)
        .sort(),
    ).toEqual(['FREE', 'WORK']);
    expect(shard.waitMs).toBe(100);
    expect(shard.turn(99)).toHaveLength(0);
    expect(shard.turn(1)).toHaveLength(1);
  });

  it('that become limited after the turn of a ready job let it through their own line only', () => {
    const shard = new Shard({}, { WORK: 'api' });
    refusedByAll(shard);
    expect(shard.resource('api').isLimited).toBe(true);
    // Ready holds a reserve while no instance lives.
    const other = new Shard();
    other.see({ WORK: 'api' }, 0);
    other.submit('x/1', 4, 'WORK');
    other.turn();
    expect(other.engine.state.readyJobs).toBe(4);
    const api = other.resource('api');
    api.congestion.frozenAtMs = other.nowMs;
    api.congestion.frozenForMs = 1_000;
    api.congestion.rps = 10;
    api.frozenUntilMs = other.nowMs + 1_000;
    api.isLimited = true;
    other.engine.state.limited.add(api);
    other.see({ WORK: 'api' }, 10);
    expect(other.turn(10)).toEqual([]);
    expect(other.engine.state.readyJobs).toBe(0);
    expect(other.waitMs).toBeGreaterThanOrEqual(990);
    expect(other.turn(1_090)).toHaveLength(1);
  });
});

describe('bulk-action BA-3: what a service taught', () => {
  it('slows all groups by one learnt rate, which begins with an empty bucket', () => {
    const shard = new Shard({}, { WORK: 'api' });
    refusedByAll(shard);
    const { learnt, isLimited } = shard.resource('api');
    expect({ isLimited, rps: learnt?.rps }).toEqual({ isLimited: true, rps: expect.any(Number) });
    expect(shard.turn(), 'right after').toEqual([]);
    expect(shard.waitMs).toBeGreaterThan(0);
    expect(shard.waitMs).toBeLessThanOrEqual(1_000);
    expect(resourceStates(shard.engine.state)).toMatchObject([
      { resource: 'api', starts: 10, throttles: 10, limit: learnt?.rps },
    ]);
  });

  it('slows a group that is refused alone further, and not the others', () => {
    const shard = new Shard({}, { WORK: 'api' });
    refusedByAll(shard);
    const api = shard.resource('api');
    const started = shard.turn(5_000).filter(({ groupId }) => groupId === 'x/1');
    expect(started.length).toBeGreaterThan(0);
    const { flips } = api;
    const slow = { resource: api, flips, congestion: newCongestion(), rate: undefined, frozenUntilMs: 0 };
    shard.group('x/1').slow = slow;
    const before = { ...api.congestion };
    shard.nowMs += 2_000;
    for (const job of started) shard.settle(job, throttled());
    expect(api.congestion).toEqual(before);
    expect(shard.group('x/1').slow?.rate?.rps).toBeGreaterThan(0);
  });

  it('is a rate from the first call on with initialRps, of one resource or of all', () => {
    for (const config of [{ congestion: { initialRps: 5 } }, { resources: { api: { initialRps: 5 } } }]) {
      const shard = new Shard(config, { WORK: 'api' });
      shard.submit('x/1', 10, 'WORK');
      expect(shard.turn()).toEqual([]);
      expect(shard.waitMs).toBe(200);
      expect(shard.turn(200)).toHaveLength(1);
    }
  });

  it('slows one group alone while the others go on, until that is forgotten', () => {
    const shard = new Shard({}, { WORK: 'api' });
    for (const id of ['x/1', 'y/1', 'z/1', 'w/1']) shard.submit(id, 100, 'WORK');
    const own = shard.turn().filter(({ groupId }) => groupId === 'x/1');
    for (const job of own) shard.settle(job, throttled(60_000));
    expect(shard.resource('api').isLimited).toBe(false);
    expect(new Set(shard.turn().map(({ groupId }) => groupId))).toEqual(new Set(['y/1', 'z/1', 'w/1']));
    expect(groupSlowness(shard.engine.state, shard.group('x/1'))).toMatchObject({
      frozenForMs: 60_000,
      throttles: own.length,
      lastBackoffMs: 60_000,
      nonReadyCount: own.length,
    });
    shard.engine.receive([{ kind: 'forget-congestion', groupId: 'x/1' }], shard.nowMs * 1000);
    shard.settle(shard.running[0]);
    shard.turn();
    expect(groupSlowness(shard.engine.state, shard.group('x/1'))).toMatchObject({
      limit: null,
      frozenForMs: 0,
      throttles: own.length,
      lastBackoffMs: 0,
    });
    for (const job of [...shard.running]) shard.settle(job);
    expect(shard.turn().map(({ groupId }) => groupId)).toContain('x/1');
  });

  it('is stored at most every 5 s while it changes, and the next owner goes on with it', () => {
    const shard = new Shard({}, { WORK: 'api' });
    const writes: number[] = [];
    for (const id of ['x/1', 'y/1', 'z/1']) shard.submit(id, 2_000, 'WORK');
    for (let step = 0; step < 260; step++) {
      const from = shard.commits.length;
      shard.turn(50);
      const isStored = shard.commits
        .slice(from)
        .some(({ records }) => records.some(({ key }) => key === 'm'));
      if (isStored) writes.push(shard.nowMs);
      for (const job of [...shard.running])
        shard.settle(job, step >= 30 && step < 32 ? throttled() : undefined);
    }
    const gaps = writes.slice(1).map((at, index) => at - (writes[index] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5_000);
    expect(gaps.length).toBeGreaterThanOrEqual(2);
    const before = shard.resource('api');
    const points = before.history.points.length;
    shard.open();
    shard.see({ WORK: 'api' });
    const after = shard.resource('api');
    expect(after.isLimited).toBe(true);
    expect(after.congestion.ceilingRps).toBe(before.congestion.ceilingRps);
    expect(after.learnt?.rps).toBeGreaterThan(0.2 * (before.learnt?.rps ?? Infinity));
    expect(points).toBe(3);
    expect(after.history.points.slice(0, 2)).toEqual(before.history.points.slice(0, 2));
  });

  it('is the same after it was stored and read', () => {
    const config = { resources: { api: { adaptiveConcurrency: true } } };
    const shard = new Shard(config, { WORK: 'api', OTHER: 'other' });
    for (const id of ['x/1', 'y/1', 'z/1', 'w/1']) shard.submit(id, 500, id === 'w/1' ? 'OTHER' : 'WORK');
    for (let step = 0; step < 40; step++) {
      shard.turn(50);
      for (const job of [...shard.running])
        shard.settle(job, job.groupId === 'x/1' && step > 35 ? throttled(500) : undefined);
    }
    const { state } = shard.engine;
    expect([...state.slowed].map(({ id }) => id)).toEqual(['x/1']);
    // Opening brings all limits up to the moment.
    for (const resource of state.resources.values()) updateLimits(state, resource);
    for (const group of state.slowed) updateSlowness(state, group);
    const stored = packSmoothing(new ByteWriter(), state);
    const { records, ...loaded } = shard.store.load();
    const other = new Engine(resolveEngineConfig(config), seededRng('other'));
    const others = records.filter(({ key }) => key !== stored.key);
    other.open({ ...loaded, records: [...others, stored] }, shard.nowMs * 1000);
    expect(other.state.resources.get('api')?.vegas).toEqual(shard.resource('api').vegas);
    expect(packSmoothing(new ByteWriter(), other.state)).toEqual(stored);
    const { limit, frozenForMs } = groupSlowness(other.state, other.state.groups.get('x/1') as Group) ?? {};
    expect({ limit, frozenForMs }).toEqual({ limit: expect.any(Number), frozenForMs: 350 });
  });

  it('includes a pause at once, so that the next owner keeps it', () => {
    const shard = new Shard({}, { WORK: 'api' });
    shard.submit('v/1', 1, 'WORK');
    shard.turn();
    shard.turn(1_000);
    refusedByAll(shard, 30_000);
    shard.turn();
    shard.open();
    shard.see({ WORK: 'api' });
    expect(shard.turn(29_990)).toEqual([]);
    expect(shard.waitMs).toBeLessThanOrEqual(1_100);
    expect(shard.turn(1_100).length).toBeGreaterThan(0);
  });

  it('is ignored if it is stored for names that are gone', () => {
    const shard = new Shard({}, { WORK: 'api' });
    refusedByAll(shard);
    shard.turn();
    const { records } = shard.store.load();
    const engine = new Engine(resolveEngineConfig(), seededRng('other'));
    engine.open({ seq: 0, records: records.filter(({ key }) => key === 'm'), notes: [] }, shard.nowMs * 1000);
    expect(engine.state.resources.size).toBe(0);
    expect(engine.state.slowed.size).toBe(0);
  });
});
