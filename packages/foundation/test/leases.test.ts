import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { expect, it, vi } from 'vitest';
import { HeldLeases, type HeldLeasesOptions } from '../src/index.js';

const [a, b, settling] = [{ id: 'a' }, { id: 'b' }, { id: 'settling' }];
type Lease = typeof a;

/** Leases of 30 ms, extended every 10 ms by a store that has lost none of them. */
function held(options: Partial<HeldLeasesOptions<string, Lease>> = {}) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const extend = vi.fn(async (_: readonly Lease[]): Promise<readonly Lease[]> => []);
  const onLost = vi.fn((_: Lease) => {});
  const isSettling = (lease: Lease) => lease === settling;
  const calls = { keyOf: ({ id }: Lease) => id, extend, onLost, isSettling };
  const leases = new HeldLeases({ clock, logger: log, everyMs: 10, leaseMs: 30, ...calls, ...options });
  return { clock, lines, extend, onLost, leases };
}
const failure = Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' });
const away = () => Promise.reject(failure);

it('extends all leases in one call while any is held, and does nothing when idle', async () => {
  const { clock, extend, leases } = held();
  leases.hold(a);
  await clock.advance(5);
  leases.hold(b);
  await clock.advance(5);
  expect([extend.mock.calls, leases.size, leases.get('b'), leases.all()]).toEqual([[[[a, b]]], 2, b, [a, b]]);
  const onIdle = vi.fn();
  const idle = leases.idle().then(onIdle);
  expect([leases.release(a), leases.release(a)]).toEqual([true, false]);
  await clock.advance(10);
  expect([extend.mock.calls, onIdle.mock.calls]).toEqual([[[[a, b]], [[b]]], []]);
  leases.release(b);
  await Promise.all([idle, leases.idle(), leases.check()]);
  expect([extend.mock.calls.length, clock.pendingTimers]).toEqual([2, 0]);
});

it('reports a lease that the store has given away once, unless its end is being written', async () => {
  const { clock, extend, onLost, leases } = held();
  for (const lease of [a, settling, b]) leases.hold(lease);
  extend.mockImplementation(async (all) => all.filter((lease) => lease !== b));
  await leases.check();
  await clock.advance(10);
  expect([onLost.mock.calls, leases.size]).toEqual([[[a]], 3]);
  expect(extend.mock.calls).toEqual([[[a, settling, b]], [[settling, b]]]);
  // The same work comes back under a new lease.
  leases.hold({ id: 'a' });
  expect(leases.release(a)).toBe(false);
  await leases.check();
  expect(onLost.mock.calls).toEqual([[a], [a]]);
});

it('reports all leases as lost leaseMs after it sent the last extension that succeeded', async () => {
  const { clock, lines, extend, onLost, leases } = held();
  const answer = latch<readonly Lease[]>('the store answers');
  extend.mockReturnValueOnce(answer.promise).mockImplementation(away);
  for (const lease of [a, settling]) leases.hold(lease);
  // Sent at 10, answered at 25: the leases are certain until 40. The next failures come at 35 and 45.
  await clock.advance(25);
  answer.open([]);
  await clock.advance(10);
  expect(onLost).not.toHaveBeenCalled();
  await clock.advance(10);
  const fields = { leases: 2, code: 'STORE_UNAVAILABLE', err: failure };
  const line = { level: 'warn', fields, message: 'Extending leases failed, will retry' };
  expect([onLost.mock.calls, lines]).toEqual([[[a]], [line, line]]);
});

it('joins the extension in progress, keeps one timer, and loses no lease released meanwhile', async () => {
  const { clock, extend, onLost, leases } = held();
  const answer = latch<readonly Lease[]>('the store answers');
  extend.mockReturnValue(answer.promise);
  leases.hold(a);
  const checks = [leases.check(), leases.check()];
  leases.release(a);
  leases.hold(b);
  answer.open([a]);
  await Promise.all(checks);
  expect([extend.mock.calls, onLost.mock.calls, clock.pendingTimers]).toEqual([[[[a]]], [], 1]);
  leases.stop();
  leases.hold(a);
  expect([clock.pendingTimers, leases.size]).toEqual([0, 2]);
});

it('extends on demand only if the pause is infinite, and loses nothing without leaseMs', async () => {
  const { clock, extend, onLost, leases } = held({ everyMs: Infinity, leaseMs: undefined });
  extend.mockImplementation(away);
  leases.hold(a);
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(1_000);
  await leases.check();
  expect([extend.mock.calls, onLost.mock.calls]).toEqual([[[[a]]], []]);
});
