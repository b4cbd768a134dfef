import { describe, expect, it } from 'vitest';
import { numbers, World } from './world.js';

describe('chunks near the head of the order', () => {
  it('of 100,000 groups with two jobs each are few, and no slot waits for them', () => {
    const world = new World({ slots: 20 });
    for (const n of numbers(100_000))
      world.store.submit(
        `t${n % 10}/g${n}`,
        [{}, {}].map(() => ({ ...JOB })),
        { settings: { isSealable: false } },
      );
    world.receive();
    world.settle();
    expect(world.running).toHaveLength(20);
    expect(loaded(world)).toBeLessThanOrEqual(400);
    world.start(2000);
    expect(world.running).toHaveLength(20);
    expect(loaded(world)).toBeLessThanOrEqual(3000);
  });

  it('leave no slot idle in one open group of 100,000 jobs, each submitted alone', () => {
    const world = new World({ slots: 50, plan: (_attempt, rng) => ({ ms: rng.integer(1, 3) }) });
    for (const _ of numbers(100_000))
      world.store.submit('t/g', [{ ...JOB }], { settings: { isSealable: false } });
    world.receive();
    world.start(200);
    for (const _ of numbers(2000)) {
      world.endFirst();
      const commit = world.engine.commit(world.nowUs);
      if (commit) world.deliver(commit);
      expect(world.running.length).toBeGreaterThanOrEqual(49);
    }
    expect(loaded(world)).toBeLessThanOrEqual(300);
  });

  it('of 20,000 tenants that come at once are asked for little by little', () => {
    const world = new World({ slots: 5 });
    for (const n of numbers(20_000))
      world.store.submit(`t${n}/g`, [{ ...JOB }], { settings: { isSealable: false } });
    world.receive();
    expect(world.engine.commit(world.nowUs)?.wants.length).toBeLessThanOrEqual(350);
  });

  it('are asked for before the turns of their groups, so that no slot waits for a commit', () => {
    const world = new World({ slots: 50, plan: (_attempt, rng) => ({ ms: rng.integer(1, 3) }) });
    for (const n of numbers(5000))
      world.store.submit(`t/g${n}`, [{ ...JOB }], { settings: { isSealable: false } });
    world.receive();
    world.start(200);
    let idle = 0;
    for (const _ of numbers(2000)) {
      world.endFirst();
      const commit = world.engine.commit(world.nowUs);
      if (commit) world.deliver(commit);
      if (world.running.length < 49) idle += 1;
    }
    expect(idle).toBe(0);
  });

  it('stay within their budget of bytes, and each job runs once', () => {
    const payload = JSON.stringify('x'.repeat(1000));
    const world = new World({ slots: 10, options: { windowBytesMax: 300_000 } });
    for (const n of numbers(100))
      world.submit(
        `t${n % 5}/g${n}`,
        numbers(50).map(() => ({ payload })),
      );
    for (const _ of numbers(4000)) {
      if (!world.next()) break;
      // One chunk beyond the budget: the newest one always stays.
      expect(world.state.loadedBytes).toBeLessThanOrEqual(300_000 + 60_000);
    }
    world.drain();
    expect(new Set(world.starts.map(({ groupId, position }) => `${groupId} ${position}`)).size).toBe(5000);
    expect(world.starts).toHaveLength(5000);
    expect(world.state.loadedBytes).toBe(0);
  });

  it('are asked for again if the journal did not answer', () => {
    const world = new World({ slots: 2 });
    world.submit('t/g', 3);
    expect(world.engine.commit(world.nowUs)?.wants).toHaveLength(1);
    expect(world.engine.commit(world.nowUs)?.wants).toHaveLength(1);
    expect(world.drain()).toHaveLength(3);
  });
});

const JOB = {
  id: '',
  type: 'T',
  cost: 1,
  charge: undefined,
  deadlineMs: undefined,
  traceparent: undefined,
  payload: '{}',
};

/** Chunks whose lines are in memory. */
function loaded({ state }: World): number {
  let count = 0;
  for (const { chunks } of state.groups.values())
    for (const { bytes } of chunks.values()) if (bytes > 0) count += 1;
  return count;
}
