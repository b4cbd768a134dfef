import { sleep } from '@millrace/foundation';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../src/manual-clock.js';

describe('ManualClock', () => {
  it('fires 0 ms at advance(0), not within setTimer', async () => {
    const clock = new ManualClock();
    let fired = false;
    clock.setTimer(0, () => {
      fired = true;
    });
    expect([fired, clock.pendingTimers, clock.nextTimerAt]).toEqual([false, 1, 0]);
    await clock.advance(0);
    expect([fired, clock.pendingTimers, clock.nextTimerAt]).toEqual([true, 0, undefined]);
  });

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
    const times = () => [clock.now(), clock.monotonicMs(), clock.nextTimerAt];
    clock.setTimer(100, () => {});
    clock.jump(-4_000);
    expect(times()).toEqual([6_000, 5, 105]);
    clock.jump(1_000_000);
    await clock.advance(99);
    expect(times()).toEqual([1_006_099, 104, 105]);
    await clock.advance(1);
    expect(times()).toEqual([1_006_100, 105, undefined]);
  });

  it('runs overlapping advances one after the other', async () => {
    const clock = new ManualClock();
    const seen: number[] = [];
    clock.setTimer(10, () => seen.push(clock.monotonicMs()));
    clock.setTimer(20, () => seen.push(clock.monotonicMs()));
    await Promise.all([clock.advance(10), clock.advance(10)]);
    expect(seen).toEqual([10, 20]);
    expect(clock.monotonicMs()).toBe(20);
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
});

/** A timer that sets others when it fires and cancels the one with the given number, if there is one. */
interface Plan {
  readonly delay: number;
  readonly cancels?: number | undefined;
  readonly children: readonly Plan[];
}

const { plan } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.record({
    delay: fc.nat(20),
    cancels: fc.option(fc.nat(15), { nil: undefined }),
    children: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie('plan'), { maxLength: 3 })),
  }),
}));

/** The specification: the earliest of all pending timers fires, and of several the one that was set first. */
function expectedFirings(plans: readonly Plan[], end: number): string[] {
  let pending: { number: number; at: number; plan: Plan }[] = [];
  let numbers = 0;
  const set = (now: number) => (each: Plan) =>
    pending.push({ number: numbers++, at: now + each.delay, plan: each });
  plans.forEach(set(0));
  const log: string[] = [];
  for (;;) {
    const [next] = pending.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.number - b.number);
    if (next === undefined) return log;
    pending = pending.filter(({ number }) => number !== next.number && number !== next.plan.cancels);
    log.push(`${next.number}@${next.at}`);
    next.plan.children.forEach(set(next.at));
  }
}

async function actualFirings(plans: readonly Plan[], steps: readonly number[]): Promise<string[]> {
  const clock = new ManualClock();
  const cancels: (() => void)[] = [];
  const log: string[] = [];
  const set = (each: Plan) => {
    const number = cancels.length;
    const cancel = clock.setTimer(each.delay, () => {
      log.push(`${number}@${clock.monotonicMs()}`);
      if (each.cancels !== undefined) cancels[each.cancels]?.();
      each.children.forEach(set);
    });
    cancels.push(cancel);
  };
  plans.forEach(set);
  for (const step of steps) await clock.advance(step);
  return log;
}

describe('ManualClock, any plan of timers', () => {
  it('fires as the plain specification says, however the time is cut into steps', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { maxLength: 6 }),
        fc.array(fc.nat(15), { minLength: 1, maxLength: 5 }),
        async (plans, steps) => {
          const end = steps.reduce((sum, step) => sum + step, 0);
          expect(await actualFirings(plans, steps)).toEqual(expectedFirings(plans, end));
        },
      ),
      { numRuns: 300 },
    );
  });
});
