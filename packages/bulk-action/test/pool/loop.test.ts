import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { Bell } from '../../src/pool/bell.js';
import { Loop } from '../../src/pool/loop.js';

describe('Bell', () => {
  it('bulk-action BA-5: a ring wakes the sleeper, and one that came before is remembered once', async () => {
    const clock = new ManualClock();
    const bell = new Bell();
    const { signal } = new AbortController();
    bell.ring();
    bell.ring();
    expect(await bell.wait(clock, 100, signal)).toBe('rung');
    const second = bell.wait(clock, 100, signal);
    await clock.advance(99);
    bell.ring();
    expect(await second).toBe('rung');
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-5: a wait ends by its time, by its signal, and not by a ring that was hushed', async () => {
    const clock = new ManualClock();
    const bell = new Bell();
    const stopping = new AbortController();
    bell.ring();
    bell.hush();
    const byTime = bell.wait(clock, 100, stopping.signal);
    await clock.advance(100);
    expect(await byTime).toBe('time');
    const bySignal = bell.wait(clock, 100, stopping.signal);
    stopping.abort();
    expect(await bySignal).toBe('stopped');
    expect(await bell.wait(clock, 100, stopping.signal)).toBe('stopped');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('Loop', () => {
  it('bulk-action BA-4: a loop survives errors: logged with their stack, and the next round comes after 1 s', async () => {
    const clock = new ManualClock();
    const { log, lines } = recordingLogger();
    const rounds: number[] = [];
    const error = new Error('the store is away');
    const bell = new Bell();
    const loop = new Loop({
      name: 'Example',
      clock,
      log,
      bell,
      step: () => {
        rounds.push(clock.monotonicMs());
        if (rounds.length <= 2) throw error;
        return 50;
      },
    });
    loop.start();
    await clock.advance(0);
    // A ring does not shorten the pause: it would make a busy loop of every wake-up.
    bell.ring();
    await clock.advance(999);
    expect(rounds).toEqual([0]);
    await clock.advance(1001);
    expect(rounds.slice(0, 3)).toEqual([0, 1000, 2000]);
    expect(lines.map(({ level, fields }) => [level, fields.err])).toEqual([
      ['error', error],
      ['error', error],
    ]);
    expect(lines[0]?.message).toContain('the store is away');
    expect(loop.running).toBe(true);
    await loop.stop();
    expect(loop.running).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-4: a loop never overlaps itself, and stop waits for its present round', async () => {
    const clock = new ManualClock();
    const { log } = recordingLogger();
    const mayEnd = latch('the round may end');
    let rounds = 0;
    const bell = new Bell();
    const loop = new Loop({
      name: 'Example',
      clock,
      log,
      bell,
      step: async () => {
        rounds += 1;
        await mayEnd.promise;
        return 10;
      },
    });
    loop.start();
    loop.start();
    bell.ring();
    await clock.advance(1000);
    expect(rounds).toBe(1);
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    await clock.advance(1000);
    expect(stopped).toBe(false);
    mayEnd.open();
    await stopping;
    await clock.advance(1000);
    expect(rounds).toBe(1);
    loop.start();
    expect(rounds).toBe(1);
  });

  it('bulk-action BA-4: a hostile error and a logger that throws on it end no loop', async () => {
    const clock = new ManualClock();
    let rounds = 0;
    const fail = () => {
      throw new Error('the logger fails');
    };
    const log = { debug: fail, info: fail, warn: fail, error: fail, child: () => log };
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('do not look');
        },
      },
    );
    const loop = new Loop({
      name: 'Example',
      clock,
      log,
      step: () => {
        rounds += 1;
        throw hostile;
      },
    });
    loop.start();
    await clock.advance(2000);
    expect(rounds).toBe(3);
    await loop.stop();
  });
});
