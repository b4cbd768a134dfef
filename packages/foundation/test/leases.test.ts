import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { HeldLeases, type HeldLeasesOptions } from '../src/index.js';

interface Run {
  readonly id: string;
  settling?: boolean;
}

function held(options: Partial<HeldLeasesOptions<string, Run>> = {}) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const calls: string[][] = [];
  const lost: string[] = [];
  const store: { answer: (runs: readonly Run[]) => readonly Run[] | Promise<readonly Run[]> } = {
    answer: () => [],
  };
  const leases = new HeldLeases<string, Run>({
    clock,
    logger: log,
    everyMs: 10,
    leaseMs: 30,
    keyOf: ({ id }) => id,
    async extend(runs) {
      calls.push(runs.map(({ id }) => id));
      return store.answer(runs);
    },
    onLost: ({ id }) => lost.push(id),
    isSettling: ({ settling }) => settling === true,
    ...options,
  });
  return { clock, lines, calls, lost, store, leases };
}
const away = () => Promise.reject(Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' }));

describe('HeldLeases', () => {
  it('extends all leases in one call while any is held, and does nothing when idle', async () => {
    const { clock, calls, leases } = held();
    const [a, b] = [{ id: 'a' }, { id: 'b' }];
    leases.hold(a);
    await clock.advance(5);
    leases.hold(b);
    await clock.advance(5);
    expect([calls, leases.size, leases.get('b'), leases.all()]).toEqual([[['a', 'b']], 2, b, [a, b]]);
    let isIdle = false;
    const idle = leases.idle().then(() => {
      isIdle = true;
    });
    expect([leases.release(a), leases.release(a)]).toEqual([true, false]);
    await clock.advance(10);
    expect([calls.at(-1), isIdle]).toEqual([['b'], false]);
    leases.release(b);
    await idle;
    await leases.idle();
    expect(clock.pendingTimers).toBe(0);
  });

  it('reports a lease that the store has given away once, and extends it no more', async () => {
    const { clock, calls, lost, store, leases } = held();
    const runs = ['gone', 'settling', 'kept'].map((id) => ({ id, settling: id === 'settling' }));
    for (const run of runs) leases.hold(run);
    store.answer = (asked) => asked.filter(({ id }) => id !== 'kept');
    await leases.check();
    await clock.advance(10);
    expect([lost, leases.size]).toEqual([['gone'], 3]);
    expect(calls).toEqual([
      ['gone', 'settling', 'kept'],
      ['settling', 'kept'],
    ]);
    // The same work comes back under a new lease.
    leases.hold({ id: 'gone' });
    expect(leases.release(runs[0] as Run)).toBe(false);
    await leases.check();
    expect(lost).toEqual(['gone', 'gone']);
  });

  it('reports all leases as lost when a whole lease has passed without an extension', async () => {
    const { clock, lines, lost, store, leases } = held();
    store.answer = away;
    leases.hold({ id: 'a' });
    leases.hold({ id: 'b', settling: true });
    await clock.advance(29);
    expect([lost, lines.length]).toEqual([[], 2]);
    expect(lines[0]).toMatchObject({
      fields: { leases: 2, code: 'STORE_UNAVAILABLE' },
      message: 'Extending leases failed, will retry',
    });
    await clock.advance(1);
    expect(lost).toEqual(['a']);
    const patient = held({ leaseMs: undefined });
    patient.store.answer = away;
    patient.leases.hold({ id: 'a' });
    await patient.clock.advance(1_000);
    expect(patient.lost).toEqual([]);
  });

  it('counts an extension from when it was sent', async () => {
    const { clock, lost, store, leases } = held();
    const answer = latch<readonly Run[]>('the store answers');
    store.answer = () => answer.promise;
    leases.hold({ id: 'a' });
    await clock.advance(25);
    answer.open([]);
    store.answer = away;
    await clock.advance(10);
    expect(lost).toEqual([]);
    await clock.advance(10);
    expect(lost).toEqual(['a']);
  });

  it('joins the extension in progress, keeps one timer, and ignores a release meanwhile', async () => {
    const { clock, calls, lost, store, leases } = held();
    const answer = latch<readonly Run[]>('the store answers');
    store.answer = () => answer.promise;
    const run = { id: 'a' };
    leases.hold(run);
    const checks = [leases.check(), leases.check()];
    leases.release(run);
    leases.hold({ id: 'b' });
    answer.open([run]);
    await Promise.all(checks);
    expect([calls, lost, clock.pendingTimers]).toEqual([[['a']], [], 1]);
    leases.stop();
    await clock.advance(100);
    expect([calls.length, leases.size]).toEqual([1, 1]);
  });

  it('extends on demand only if the pause is infinite', async () => {
    const { clock, calls, leases } = held({ everyMs: Number.POSITIVE_INFINITY });
    await leases.check();
    leases.hold({ id: 'a' });
    expect([clock.pendingTimers, calls]).toEqual([0, []]);
    await leases.check();
    expect(calls).toEqual([['a']]);
  });
});
