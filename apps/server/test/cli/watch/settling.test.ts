import { ManualClock } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { QUIET_MS, Settling, UNQUIET_MAX_MS } from '../../../src/cli/watch/settling.js';

function settling() {
  const clock = new ManualClock();
  const looks: number[] = [];
  return { clock, looks, settling: new Settling(clock, () => looks.push(clock.monotonicMs())) };
}

it('many hints are one look, when there are no more', async () => {
  const { clock, looks, settling: its } = settling();
  for (let n = 0; n < 3; n++) {
    its.hint();
    await clock.advance(QUIET_MS - 1);
  }
  expect(looks).toEqual([]);
  await clock.advance(1);
  expect(looks).toEqual([3 * QUIET_MS - 2]);
  await clock.advance(UNQUIET_MAX_MS);
  expect(looks).toHaveLength(1);
  its.hint();
  await clock.advance(QUIET_MS);
  expect(looks).toHaveLength(2);
});

it('looks after a while though the hints never end', async () => {
  const { clock, looks, settling: its } = settling();
  for (let ms = 0; ms < 2 * UNQUIET_MAX_MS; ms += 10) {
    its.hint();
    await clock.advance(10);
  }
  expect(looks).toEqual([UNQUIET_MAX_MS, 2 * UNQUIET_MAX_MS]);
});

it('looks no more when it was stopped', async () => {
  const { clock, looks, settling: its } = settling();
  its.hint();
  its.stop();
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(QUIET_MS);
  expect(looks).toEqual([]);
});
