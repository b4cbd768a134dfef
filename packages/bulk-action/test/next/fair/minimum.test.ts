import { describe, expect, it } from 'vitest';
import { jain, totals } from '../../fairness/measures.js';
import { numbers, tenantOf, World, workerTime } from './world.js';

describe('a minimum share', () => {
  it('is kept beside nine others with as much work, and what is above it is shared', () => {
    const world = new World({ slots: 10, plan: (_attempt, rng) => ({ ms: rng.exponential(20) }) });
    world.limit('t0', { minShare: 0.5 });
    for (const n of numbers(10)) world.submit(`t${n}/g`, 3000);
    const fromMs = world.nowMs;
    world.start(3000);
    const busy = workerTime(world.starts, tenantOf, fromMs, world.nowMs);
    const all = (world.nowMs - fromMs) * 10;
    expect(Math.abs((busy.get('t0') as number) / all - 0.5)).toBeLessThanOrEqual(0.03);
    const others = numbers(9).map((n) => busy.get(`t${n + 1}`) as number);
    expect(jain(others)).toBeGreaterThanOrEqual(0.99);
  });

  it('is no more than the share if the share is larger', () => {
    const world = new World({ slots: 10, plan: (_attempt, rng) => ({ ms: rng.exponential(20) }) });
    world.limit('t0', { minShare: 0.3 });
    for (const n of numbers(2)) world.submit(`t${n}/g`, 3000);
    const served = totals(world.start(3000), tenantOf);
    expect(Math.abs((served.get('t0') as number) / 1500 - 1)).toBeLessThanOrEqual(0.02);
  });

  it('of 0.08 for each of 12 tenants on 10 slots leaves all of them equal', () => {
    const world = new World({ slots: 10, plan: (_attempt, rng) => ({ ms: rng.integer(15, 25) }) });
    for (const n of numbers(12)) {
      world.limit(`t${n}`, { minShare: 0.08 });
      world.submit(`t${n}/g`, 1000);
    }
    const served = [...totals(world.start(6000), tenantOf).values()];
    expect(served).toHaveLength(12);
    expect(jain(served)).toBeGreaterThanOrEqual(0.999);
    expect(Math.min(...served)).toBeGreaterThan(450);
  });

  it('that is not used is lent, and comes back with the next free slot', () => {
    const plan = ({ tenantId }: { readonly tenantId: string }) => ({
      ms: tenantId === 'owner' ? 60_000 : 100,
    });
    const world = new World({ slots: 10, plan });
    world.limit('owner', { minShare: 0.4 });
    for (const n of numbers(5)) world.submit(`t${n}/g`, 2000);
    expect(new Set(world.start(500).map(tenantOf)).has('owner')).toBe(false);
    expect(world.running).toHaveLength(10);
    world.submit('owner/g', 100);
    expect(world.start(4).map(tenantOf)).toEqual(['owner', 'owner', 'owner', 'owner']);
    expect(world.start(1).map(tenantOf)).not.toEqual(['owner']);
  });

  it('goes first to the tenant that has the lowest part of its own', () => {
    const world = new World({ slots: 10, plan: () => ({ ms: 1000 }) });
    world.limit('a', { minShare: 0.2 });
    world.limit('b', { minShare: 0.4 });
    for (const tenant of ['c', 'a', 'b']) world.submit(`${tenant}/g`, 20);
    // Parts of a and b after each turn: 0 0, 1/2 0, 1/2 1/4, 1/2 1/2, 1 1/2, 1 3/4, 1 1.
    expect(world.start(6).map(tenantOf).join('')).toBe('abbabb');
  });

  it('does not go before caps and rates', () => {
    const world = new World({ slots: 10, plan: () => ({ ms: 50 }) });
    world.limit('capped', { minShare: 0.5, concurrency: 2 });
    world.limit('slow', { minShare: 0.4, rps: 5 });
    for (const tenant of ['capped', 'slow', 'free']) world.submit(`${tenant}/g`, 2000);
    world.pass(4000);
    const starts = totals(world.starts, tenantOf);
    const running = totals(world.running, tenantOf);
    expect(running.get('capped')).toBe(2);
    expect(starts.get('slow')).toBeLessThanOrEqual(21);
    expect(world.running).toHaveLength(10);
  });

  it('leaves its tenant at most the minimum ahead: without it the tenant waits no longer than that', () => {
    const world = new World({ slots: 10 });
    world.limit('t0', { minShare: 0.5 });
    for (const n of numbers(10)) world.submit(`t${n}/g`, 3000);
    world.start(3000);
    world.limit('t0', { minShare: 0 });
    // Its lead is five jobs: the nine others have five turns each before it.
    const next = world.start(70).map(tenantOf);
    expect(next.indexOf('t0')).toBeLessThanOrEqual(56);
    expect(next.indexOf('t0')).toBeGreaterThan(20);
  });
});
