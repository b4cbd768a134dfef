import { ManualClock } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { Draining } from '../../src/http/draining.js';

it('remembers when the stop began, however often it is told', async () => {
  const clock = new ManualClock();
  const draining = new Draining(clock);
  expect([draining.isDraining, draining.beganAt]).toEqual([false, undefined]);
  const began = new Date(clock.now());
  draining.begin();
  await clock.advance(5_000);
  draining.begin();
  expect([draining.isDraining, draining.beganAt]).toEqual([true, began]);
});
