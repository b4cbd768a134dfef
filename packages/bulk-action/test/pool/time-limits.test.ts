import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { TimeLimits } from '../../src/pool/time-limits.js';

/** Limits under a clock that stands still, and what they told: name and time. */
function world() {
  const clock = new ManualClock();
  const limits = new TimeLimits(clock);
  const told: [string, number][] = [];
  const begin = (name: string, ms: number) =>
    limits.begin({ timeOver: () => void told.push([name, clock.monotonicMs()]) }, ms);
  return { clock, limits, told, begin };
}

describe('TimeLimits', () => {
  it('bulk-action BA-5: every limit passes at its own time, those of one length with one timer', async () => {
    const { clock, told, begin } = world();
    begin('a', 100);
    await clock.advance(30);
    begin('b', 100);
    begin('c', 100);
    begin('short', 50);
    expect(clock.pendingTimers).toBe(2);
    await clock.advance(1000);
    expect(told).toEqual([
      ['short', 80],
      ['a', 100],
      ['b', 130],
      ['c', 130],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-5: a limit that was ended tells nobody, and the next passes exactly at its time', async () => {
    const { clock, told, begin } = world();
    const first = begin('first', 100);
    await clock.advance(60);
    begin('second', 100);
    first.end();
    first.end();
    await clock.advance(99);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual([['second', 160]]);
  });

  it('bulk-action BA-5: ten thousand short jobs set one timer, which fires for nobody and is not set again', async () => {
    const { clock, told, begin } = world();
    for (let job = 0; job < 10_000; job++) begin('short', 100).end();
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(100);
    expect(clock.pendingTimers).toBe(0);
    begin('later', 100);
    await clock.advance(100);
    expect(told).toEqual([['later', 200]]);
  });

  it('bulk-action BA-5: one that ends another while it is told keeps that one from being told', async () => {
    const { clock, limits, told, begin } = world();
    limits.begin({ timeOver: () => second.end() }, 100);
    const second = begin('second', 100);
    begin('third', 100);
    await clock.advance(100);
    expect(told).toEqual([['third', 100]]);
  });

  it('bulk-action BA-10: after stop no timer is left and nobody is told', async () => {
    const { clock, limits, told, begin } = world();
    begin('a', 100);
    begin('b', 200);
    limits.stop();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(1000);
    expect(told).toEqual([]);
  });
});
