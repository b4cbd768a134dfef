import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { HeldLeases, type HeldLeasesOptions } from '../src/index.js';

interface Run {
  readonly id: string;
  readonly settling?: boolean;
}

/** Leases of 30 ms, extended every 10 ms, and a store whose answer a test sets. */
function held(options: Partial<HeldLeasesOptions<string, Run>> = {}) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const calls: string[] = [];
  const lost: string[] = [];
  const store = { extend: async (_: readonly Run[]): Promise<readonly Run[]> => [] };
  const leases = new HeldLeases<string, Run>({
    clock,
    logger: log,
    everyMs: 10,
    leaseMs: 30,
    keyOf: ({ id }) => id,
    extend(runs) {
      calls.push(runs.map(({ id }) => id).join());
      return store.extend(runs);
    },
    onLost: ({ id }) => lost.push(id),
    isSettling: ({ settling = false }) => settling,
    ...options,
  });
  return { clock, lines, calls, lost, store, leases };
}
const away = () => Promise.reject(Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' }));
const [a, b, settling] = [{ id: 'a' }, { id: 'b' }, { id: 'settling', settling: true }];

it('extends all leases in one call while any is held, and does nothing when idle', async () => {
  const { clock, calls, leases } = held();
  leases.hold(a);
  await clock.advance(5);
  leases.hold(b);
  await clock.advance(5);
  expect([calls, leases.size, leases.get('b'), leases.all()]).toEqual([['a,b'], 2, b, [a, b]]);
  let isIdle = false;
  const idle = leases.idle().then(() => {
    isIdle = true;
  });
  expect([leases.release(a), leases.release(a)]).toEqual([true, false]);
  await clock.advance(10);
  expect([calls, isIdle]).toEqual([['a,b', 'b'], false]);
  leases.release(b);
  await Promise.all([idle, leases.idle(), leases.check()]);
  expect([calls.length, clock.pendingTimers]).toEqual([2, 0]);
});

it('reports a lease that the store has given away once, unless its end is being written', async () => {
  const { clock, calls, lost, store, leases } = held();
  for (const run of [a, settling, b]) leases.hold(run);
  store.extend = async (runs) => runs.filter((run) => run !== b);
  await leases.check();
  await clock.advance(10);
  expect([lost, leases.size, calls]).toEqual([['a'], 3, ['a,settling,b', 'settling,b']]);
  // The same work comes back under a new lease.
  leases.hold({ id: 'a' });
  expect(leases.release(a)).toBe(false);
  await leases.check();
  expect(lost).toEqual(['a', 'a']);
});

it('reports all leases as lost when leaseMs have passed since an extension was sent that succeeded', async () => {
  const { clock, lines, lost, store, leases } = held();
  const answer = latch<readonly Run[]>('the store answers');
  store.extend = () => answer.promise;
  for (const run of [a, settling]) leases.hold(run);
  // Sent at 10, answered at 25: the leases are certain until 40. The next failures come at 35 and 45.
  await clock.advance(25);
  answer.open([]);
  store.extend = away;
  await clock.advance(10);
  expect(lost).toEqual([]);
  await clock.advance(10);
  expect([lost, lines.length]).toEqual([['a'], 2]);
  expect(lines[0]).toMatchObject({
    fields: { leases: 2, code: 'STORE_UNAVAILABLE' },
    message: 'Extending leases failed, will retry',
  });
});

it('joins the extension in progress, keeps one timer, and reports no lease released meanwhile', async () => {
  const { clock, calls, lost, store, leases } = held();
  const answer = latch<readonly Run[]>('the store answers');
  store.extend = () => answer.promise;
  leases.hold(a);
  const checks = [leases.check(), leases.check()];
  leases.release(a);
  leases.hold(b);
  answer.open([a]);
  await Promise.all(checks);
  expect([calls, lost, clock.pendingTimers]).toEqual([['a'], [], 1]);
  leases.stop();
  leases.hold(a);
  expect([clock.pendingTimers, leases.size]).toEqual([0, 2]);
});

it('extends on demand only if the pause is infinite, and leaves leases to the store without leaseMs', async () => {
  const { clock, calls, lost, store, leases } = held({
    everyMs: Number.POSITIVE_INFINITY,
    leaseMs: undefined,
  });
  store.extend = away;
  leases.hold(a);
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(1_000);
  await leases.check();
  expect([calls, lost]).toEqual([['a'], []]);
});
