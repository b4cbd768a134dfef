import { sleep } from '@millrace/foundation';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ManualClock } from '../src/manual-clock.js';

it('lets promise chains of any depth run between two timers', async () => {
  const clock = new ManualClock();
  const log: string[] = [];
  const chain = async (name: string) => {
    await Promise.resolve(); // The first timer too is set after the call of `advance`.
    await sleep(clock, 10);
    for (let step = 0; step < 50; step++) await Promise.resolve();
    log.push(`${name} awake at ${clock.monotonicMs()}`);
    await sleep(clock, 5);
    log.push(`${name} done at ${clock.monotonicMs()}`);
  };
  const both = Promise.all([chain('a'), chain('b')]);
  await clock.advance(15);
  await both;
  expect(log).toEqual(['a awake at 10', 'b awake at 10', 'a done at 15', 'b done at 15']);
});

it('moves with advance, and jumps the wall clock alone', async () => {
  const clock = new ManualClock({ now: 10_000, monotonicMs: 5 });
  const state = () => [clock.now(), clock.monotonicMs(), clock.pendingTimers, clock.nextTimerAt];
  clock.setTimer(100, () => {});
  clock.jump(-4_000);
  expect(state()).toEqual([6_000, 5, 1, 105]);
  clock.jump(1_000_000);
  await clock.advance(99);
  expect(state()).toEqual([1_006_099, 104, 1, 105]);
  await clock.advance(1);
  expect(state()).toEqual([1_006_100, 105, 0, undefined]);
});

it('gives up on a timer that sets itself again after 0 ms', async () => {
  const clock = new ManualClock();
  const again = () => void clock.setTimer(0, again);
  again();
  await expect(clock.advance(1)).rejects.toThrow('fired 100000 timers and is still at 0 of 1 ms');
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses %s as a duration', (ms) => {
  const clock = new ManualClock();
  expect(() => clock.setTimer(ms, () => {})).toThrow(RangeError);
  expect(() => clock.advance(ms)).toThrow(RangeError);
});

/** A timer that cancels the one with the given number, if there is one, and sets others when it fires. */
interface Plan {
  readonly delay: number;
  readonly cancels: number;
  readonly sets: readonly Plan[];
}

const planThatSets = (sets: fc.Arbitrary<Plan[]>): fc.Arbitrary<Plan> =>
  fc.record({ delay: fc.nat(20), cancels: fc.nat(30), sets });
const plans = [1, 2, 3].reduce(
  (inner) => fc.array(planThatSets(inner), { maxLength: 4 }),
  fc.constant<Plan[]>([]),
);
const steps = fc.array(fc.nat(15), { minLength: 1, maxLength: 5 });

it('fires every plan of timers in the order of time, then of setting, also in overlapping advances', () =>
  fc.assert(
    fc.asyncProperty(plans, steps, async (roots, durations) => {
      const clock = new ManualClock();
      const timers: { at: number; name: string; isCancelled: boolean; cancel(): void }[] = [];
      const fired: string[] = [];
      const set = ({ delay, cancels, sets }: Plan) => {
        const number = timers.length;
        const at = clock.monotonicMs() + delay;
        const cancel = clock.setTimer(delay, () => {
          fired.push(`${number} at ${clock.monotonicMs()}`);
          const victim = timers[cancels];
          if (victim && !fired.includes(victim.name)) victim.isCancelled = true;
          victim?.cancel();
          sets.forEach(set);
        });
        timers.push({ at, name: `${number} at ${at}`, isCancelled: false, cancel });
      };
      roots.forEach(set);
      await Promise.all(durations.map((ms) => clock.advance(ms)));
      const end = durations.reduce((sum, ms) => sum + ms);
      const due = timers.filter(({ at, isCancelled }) => at <= end && !isCancelled);
      expect(fired).toEqual(due.toSorted((a, b) => a.at - b.at).map(({ name }) => name));
      expect(clock.monotonicMs()).toBe(end);
    }),
    { numRuns: 300 },
  ));
