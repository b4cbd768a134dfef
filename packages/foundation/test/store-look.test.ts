import { latch, ManualClock } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { StoreLook } from '../src/index.js';

it('all who ask in one turn share one look, and the next turn looks again', async () => {
  let looks = 0;
  const look = new StoreLook({ ask: async () => ++looks, clock: new ManualClock(), waitMs: 1_000 });
  expect(await Promise.all([look.read(), look.read()])).toEqual([1, 1]);
  expect(await look.read()).toBe(2);
});

it('a store that fails shows what was last seen, nothing at first', async () => {
  const answers = [new Error('away'), 7, new Error('away')];
  const ask = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const look = new StoreLook({ ask, clock: new ManualClock(), waitMs: 1_000 });
  expect(await look.read()).toBeUndefined();
  expect(await look.read()).toBe(7);
  expect(await look.read()).toBe(7);
});

it('a store that hangs costs the wait, is asked once, and its late answer counts', async () => {
  const clock = new ManualClock();
  const answer = latch<number>('the store answers');
  let looks = 0;
  const ask = () => {
    looks++;
    return answer.promise;
  };
  const look = new StoreLook({ ask, clock, waitMs: 1_000 });
  for (const _ of [1, 2]) {
    let seen: number | undefined | 'nothing yet' = 'nothing yet';
    const reading = look.read().then((value) => {
      seen = value;
    });
    await clock.advance(999);
    expect(seen).toBe('nothing yet');
    await clock.advance(1);
    await reading;
    expect(seen).toBeUndefined();
  }
  answer.open(3);
  await clock.advance(0);
  expect(looks).toBe(1);
  expect(await look.read()).toBe(3);
  expect(looks).toBe(2);
});
