import { describe, expect, it } from 'vitest';
import { encodeChunk } from '../../../src/next/engine/format/chunk.js';
import { chunkAddress, queueOf } from '../../../src/next/engine/state/position.js';
import { newJob } from '../engine/store.js';
import { type Attempt, numbers, World } from './world.js';

const idOf = ({ body }: Attempt): string => body.id;
const named = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const RETRY = { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 40, spendsRetry: true } as const;

/** Stores a chunk under a number of its own and announces it. */
function announce(
  world: World,
  queue: number,
  chunk: number,
  ids: readonly string[],
  isOrdered = false,
): void {
  const address = chunkAddress(queue, chunk);
  world.store.putChunk('t/g', address, encodeChunk(named(...ids).map(newJob), { createdMs: 0 }));
  const settings = {
    weight: 1,
    priorityLevel: 'normal',
    timeoutMs: 1e6,
    isOrdered,
    isSealable: false,
  } as const;
  const chunks = [{ address, jobs: ids.length }];
  const entry = { kind: 'submit', groupId: 't/g', tenantId: 't', settings, chunks, isSealed: false } as const;
  world.engine.receive([entry], world.nowUs);
}

describe('jobs of a group', () => {
  it('start by priority, then by arrival, also if the higher priority comes later', () => {
    const world = new World();
    world.submit('t/g', named('n1', 'n2', 'n3'));
    world.submit('t/g', named('low'), {}, 0);
    expect(world.start(1).map(idOf)).toEqual(['n1']);
    world.submit('t/g', named('h1', 'h2'), {}, 9);
    expect(world.start(2).map(idOf)).toEqual(['h1', 'h2']);
    world.submit('t/g', named('m'), {}, 7);
    expect(world.drain().map(idOf)).toEqual(['m', 'n2', 'n3', 'low']);
  });

  it('give a due retry the next turn', () => {
    const plan = ({ body, attempt }: Pick<Attempt, 'body' | 'attempt'>) =>
      body.id === 'j3' && attempt === 1 ? { ms: 1, outcome: RETRY } : { ms: 1 };
    const world = new World({ plan });
    for (const tenant of ['a', 'b', 'c'])
      world.submit(`${tenant}/g`, named(...numbers(200).map((n) => `j${n}`)));
    const starts = world.start(300);
    for (const tenant of ['a', 'b', 'c']) {
      const own = starts.filter(({ tenantId }) => tenantId === tenant);
      const first = own.find(({ body }) => body.id === 'j3') as Attempt;
      const again = own.find(({ attempt }) => attempt === 2) as Attempt;
      expect(own.find(({ atMs }) => atMs >= first.endsAtMs + RETRY.delayMs)).toBe(again);
    }
  });

  it('come to the front if their chunk is announced after later ones have started, in the order of priorities', () => {
    const world = new World();
    announce(world, 5, 10, ['a1', 'a2', 'a3']);
    announce(world, 5, 12, ['c1']);
    expect(world.start(1).map(idOf)).toEqual(['a1']);
    announce(world, 5, 11, ['b1', 'b2']);
    announce(world, 5, 4, ['z1']);
    announce(world, 9, 3, ['h1']);
    const order = world.drain();
    expect(queueOf((order[0] as Attempt).position)).toBe(9);
    expect(order.map(idOf).sort()).toEqual(['a2', 'a3', 'b1', 'b2', 'c1', 'h1', 'z1']);
    expect(order.map(idOf).indexOf('z1')).toBeLessThan(order.map(idOf).indexOf('a2'));
    expect(world.state.groups.get('t/g')?.done).toBe(8);
  });
});

describe('an ordered group', () => {
  it('has a failed job at its head, also before a chunk that was late', () => {
    const plan = ({ body, attempt }: Pick<Attempt, 'body' | 'attempt'>) =>
      body.id === 'a2' && attempt === 1 ? { ms: 1, outcome: RETRY } : { ms: 1 };
    const world = new World({ plan });
    announce(world, 5, 10, ['a1', 'a2', 'a3'], true);
    world.start(1);
    announce(world, 5, 4, ['z1', 'z2'], true);
    // The late jobs come to the front while a2 waits for its retry.
    world.pass(100);
    const order = world.starts.map(idOf);
    expect(order.filter((id, n) => id !== order[n - 1])).toEqual(['a1', 'z1', 'z2', 'a2', 'a3']);
    expect(order.filter((id) => id === 'a2')).toHaveLength(2);
  });

  it('runs one job at a time and keeps the order across retries, orphans and returned jobs', () => {
    const fails = new Map<string, number>();
    const world = new World({
      slots: { a: 4 },
      plan: ({ body }, rng) => {
        const before = fails.get(body.id) ?? 0;
        if (before >= 2 || !rng.chance(0.4)) return { ms: 5 };
        fails.set(body.id, before + 1);
        return { ms: 5, outcome: rng.chance(0.5) ? RETRY : { kind: 'returned' } };
      },
    });
    const ids = numbers(60).map((n) => `j${n}`);
    world.submit('t/g', named(...ids), { isOrdered: true });
    world.submit('t/other', 100);
    for (let round = 0; round < 400 && (world.state.groups.get('t/g')?.done ?? 0) < 60; round++) {
      world.pass(5);
      expect(world.running.filter(({ groupId }) => groupId === 't/g').length).toBeLessThanOrEqual(1);
      if (round % 20 !== 7) continue;
      world.kill('a');
      world.announce('a', 4);
    }
    const order = world.starts.filter(({ groupId }) => groupId === 't/g').map(idOf);
    expect(order.length).toBeGreaterThan(80);
    expect(order.filter((id, n) => id !== order[n - 1])).toEqual(ids);
  });
});
