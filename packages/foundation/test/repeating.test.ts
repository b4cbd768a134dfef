import { ManualClock, recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { Repeating } from '../src/repeating.js';
import { seededRng } from '../src/rng.js';

function repeating(work: () => Promise<void>) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const options = { clock, rng: seededRng('repeating'), logger: log, what: 'Looking', everyMs: 100 };
  return { clock, lines, it: new Repeating(options, work) };
}

describe('Repeating', () => {
  it('does it at once, again after the pause, and no more after the stop', async () => {
    let times = 0;
    const { clock, it: loop } = repeating(async () => {
      times++;
    });
    loop.now();
    expect(times).toBe(0);
    loop.start();
    loop.start();
    await clock.advance(0);
    expect(times).toBe(1);
    await clock.advance(100);
    expect(times).toBe(2);
    await loop.stop();
    loop.now();
    await clock.advance(1_000);
    expect(times).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('asked while one is under way, it does one more, not two at a time', async () => {
    const ends: (() => void)[] = [];
    let most = 0;
    let underWay = 0;
    const { clock, it: loop } = repeating(async () => {
      most = Math.max(most, ++underWay);
      await new Promise<void>((resolve) => ends.push(resolve));
      underWay--;
    });
    loop.start();
    for (let ask = 0; ask < 5; ask++) loop.now();
    ends[0]?.();
    await clock.advance(0);
    ends[1]?.();
    await clock.advance(0);
    expect([ends.length, most]).toEqual([2, 1]);
    await loop.stop();
  });

  it('a failure is logged, and the next one comes all the same', async () => {
    let times = 0;
    const {
      clock,
      lines,
      it: loop,
    } = repeating(async () => {
      if (++times === 1) throw new Error('not now');
    });
    loop.start();
    await clock.advance(0);
    expect(lines.map(({ message }) => message)).toEqual(['Looking failed and will be tried again']);
    await clock.advance(100);
    expect(times).toBe(2);
    await loop.stop();
  });
});
