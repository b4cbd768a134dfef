import { describe, expect, it } from 'vitest';
import { totals } from '../../fairness/measures.js';
import { type Attempt, groupOf, numbers, tenantOf, World } from './world.js';

const instanceOf = ({ instanceId }: Attempt): string => instanceId;
const jobs = (count: number, type: string) => numbers(count).map(() => ({ type }));

describe('the choice of the instance', () => {
  it('is the one with the most free slots in proportion, the own one last at equal load', () => {
    const world = new World({ slots: { own: 2, other: 4 }, ownId: 'own', plan: () => ({ ms: 1000 }) });
    const chosen = numbers(6).map(() => {
      world.submit('t/g', 1);
      return world.start(1).map(instanceOf)[0];
    });
    // Free parts of both after each start: 3/4 2/2, 3/4 1/2, 2/4 1/2, 1/4 1/2, 1/4 0, 0 0.
    expect(chosen).toEqual(['other', 'own', 'other', 'other', 'own', 'other']);
  });

  it('is never one without the type of the job', () => {
    const world = new World({ slots: { cpu: 8 }, types: ['CPU'] });
    world.announce('gpu', 2, ['GPU', 'CPU']);
    for (const tenant of ['a', 'b']) {
      world.submit(`${tenant}/gpu`, jobs(50, 'GPU'));
      world.submit(`${tenant}/cpu`, jobs(50, 'CPU'));
    }
    const starts = world.drain();
    expect(starts).toHaveLength(200);
    for (const { body, instanceId } of starts) if (body.type === 'GPU') expect(instanceId).toBe('gpu');
  });

  it('is none without processors: its slots do not count', () => {
    const world = new World({ slots: { a: 2 }, config: { fairQueue: { maxShare: 0.5 } } });
    world.announce('api', 50, []);
    world.submit('t/g', 10);
    world.submit('t/h', 10);
    world.settle();
    expect(world.running.map(instanceOf)).toEqual(['a', 'a']);
    expect(world.state.slots).toEqual({ live: 2, free: 0 });
  });
});

describe('a type that only some instances have', () => {
  it('holds those behind it in the group, and nothing else', () => {
    const world = new World({ slots: { cpu: 4 }, types: ['CPU'], plan: () => ({ ms: 100 }) });
    world.announce('gpu', 1, ['GPU']);
    world.submit('t/mixed', [...jobs(2, 'GPU'), ...jobs(2, 'CPU')]);
    world.submit('t/cpu', jobs(8, 'CPU'));
    world.settle();
    expect(world.running.map(groupOf).sort()).toEqual(['t/cpu', 't/cpu', 't/cpu', 't/cpu', 't/mixed']);
    const types = world.drain().filter((start) => groupOf(start) === 't/mixed');
    expect(types.map(({ body }) => body.type)).toEqual(['GPU', 'CPU', 'CPU']);
  });

  it('is shared by weight, while the other slots are shared by those without it', () => {
    const world = new World({ slots: { cpu: 20 }, types: ['CPU'], plan: () => ({ ms: 10 }) });
    world.announce('gpu', 1, ['GPU']);
    world.limit('heavy', { weight: 3 });
    for (const tenant of ['heavy', 'light']) world.submit(`${tenant}/gpu`, jobs(600, 'GPU'));
    for (const tenant of ['c', 'd']) world.submit(`${tenant}/cpu`, jobs(5000, 'CPU'));
    world.pass(4000, 1000);
    const served = totals(world.starts, tenantOf);
    expect((served.get('heavy') as number) / (served.get('light') as number)).toBeCloseTo(3, 1);
    expect(Math.abs((served.get('c') as number) - (served.get('d') as number))).toBeLessThanOrEqual(1);
    expect(world.running).toHaveLength(21);
  });

  it('earns no credit for the slots that all can use', () => {
    const world = new World({ slots: { cpu: 10 }, types: ['CPU'] });
    world.announce('gpu', 1, ['GPU']);
    world.submit('waiting/gpu', jobs(2000, 'GPU'));
    world.submit('steady/cpu', jobs(5000, 'CPU'));
    world.start(3000);
    world.submit('waiting/cpu', jobs(200, 'CPU'));
    const next = world.start(100).filter(({ body }) => body.type === 'CPU');
    const own = next.filter((start) => tenantOf(start) === 'waiting').length;
    expect(own).toBeLessThanOrEqual(next.length / 2 + 1);
    expect(own).toBeGreaterThan(next.length / 4);
  });
});

describe('a type that no instance has', () => {
  it('sends its jobs to non-ready until an instance announces it; the others go on', () => {
    const world = new World({ slots: 2 });
    world.submit('t/g', [...jobs(2, 'NEW'), ...jobs(3, 'T')]);
    expect(world.drain().map(({ body }) => body.type)).toEqual(['T', 'T', 'T']);
    const group = world.state.groups.get('t/g');
    expect([...(group?.delayed.values() ?? [])].map(({ reason }) => reason)).toEqual([
      'NO_PROCESSOR',
      'NO_PROCESSOR',
    ]);
    world.announce('b', 1, ['NEW']);
    const starts = world.drain();
    expect(starts.map(({ body, attempt, instanceId }) => [body.type, attempt, instanceId])).toEqual([
      ['NEW', 1, 'b'],
      ['NEW', 1, 'b'],
    ]);
    expect(group?.done).toBe(5);
  });

  it('keeps at most 64 jobs of a group in non-ready', () => {
    const world = new World({ slots: 2 });
    world.submit('t/g', jobs(500, 'NEW'));
    world.drain();
    const group = world.state.groups.get('t/g');
    expect(group?.delayed.size).toBe(64);
    world.announce('b', 5, ['NEW']);
    expect(world.drain()).toHaveLength(500);
    expect(group?.done).toBe(500);
  });

  it('waits in its queue while no instance lives', () => {
    const world = new World({ slots: {}, config: { workerPool: { fetchBatchSize: 3 } } });
    world.submit('t/g', jobs(5, 'NEW'));
    world.settle();
    expect(world.state.readyJobs).toBe(3);
    world.announce('a', 2, ['T']);
    world.settle();
    expect(world.state.readyJobs).toBe(0);
    expect(world.state.groups.get('t/g')?.delayed.size).toBe(5);
    world.announce('b', 2, ['NEW']);
    expect(world.drain().map(({ position }) => position % 64)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('a suspect', () => {
  /** A world in which the first job of x/g has been orphaned twice. */
  function suspectWorld(own: string, isOrdered = false): World {
    const plan = ({ groupId }: Pick<Attempt, 'groupId'>) => ({ ms: groupId === 'x/g' ? 100_000 : 100 });
    const world = new World({ slots: { k0: 1 }, ownId: own, plan });
    world.submit('x/g', 3, { isOrdered });
    for (const n of numbers(2)) {
      world.settle();
      expect(world.running.map(({ position }) => position % 64)).toEqual([0]);
      if (n < 1) world.announce(`k${n + 1}`, 0);
      world.kill(`k${n}`);
      if (n < 1) world.announce(`k${n + 1}`, 1);
    }
    return world;
  }

  it('does not run on the own instance while another lives', () => {
    const world = suspectWorld('own');
    world.announce('own', 4);
    world.announce('other', 1);
    world.submit('y/g', 1);
    world.pass(120_000, 1000);
    const last = world.starts.filter(({ groupId, attempt }) => groupId === 'x/g' && attempt > 2);
    expect(last.map(instanceOf)).toEqual(['other']);
  });

  it('runs on the own instance if that is the only one', () => {
    const world = suspectWorld('own');
    world.announce('own', 2);
    world.pass(120_000, 1000);
    expect(world.starts.some(({ attempt, instanceId }) => attempt > 2 && instanceId === 'own')).toBe(true);
  });

  it('runs alone among suspects on an instance, and others run beside it', () => {
    const plan = ({ groupId }: Pick<Attempt, 'groupId'>) => ({ ms: groupId === 'x/g' ? 300_000 : 1000 });
    const world = new World({ slots: { k: 4 }, ownId: 'own', plan });
    world.submit('x/g', 4);
    world.settle();
    world.kill('k');
    world.announce('k', 4);
    world.settle();
    expect(world.running).toHaveLength(4);
    world.kill('k');
    world.announce('k', 4);
    world.submit('y/g', 500);
    world.pass(100_000, 1000);
    const suspects = world.running.filter(({ groupId }) => groupId === 'x/g');
    expect(suspects).toHaveLength(1);
    expect(world.running).toHaveLength(4);
    world.announce('l', 4);
    world.settle();
    const now = world.running.filter(({ groupId }) => groupId === 'x/g').map(instanceOf);
    expect(now.sort()).toEqual(['k', 'l']);
  });
});
