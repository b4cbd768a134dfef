import { type Latch, latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { ProtectionOptions } from '../../src/protection/options.js';
import { openProtection } from './open-protection.js';

interface Try {
  readonly signal: AbortSignal;
  readonly answer: Latch<string | Error>;
}

/** One call whose tries are ended one by one. */
function hedged(options: ProtectionOptions = {}) {
  const opened = openProtection({ hedge: { delayMs: 50 }, ...options });
  const tries: Try[] = [];
  const caller = new AbortController();
  const outcome = opened.run(
    opened.admitted(),
    async (signal) => {
      const answer = latch<string | Error>('the try ends');
      tries.push({ signal, answer });
      const value = await answer.promise;
      if (value instanceof Error) throw value;
      return value;
    },
    caller.signal,
  );
  outcome.catch(() => {}); // Looked at by the test.
  const aborted = () => tries.map(({ signal }) => signal.aborted);
  const answer = async (which: number, value: string | Error) => {
    (tries[which] as Try).answer.open(value);
    await opened.clock.advance(0);
  };
  return { ...opened, tries, caller, outcome, aborted, answer };
}

describe('orchestrator NFR-2: hedge', () => {
  it('orchestrator NFR-2: does not begin when the first try is done or has failed before the delay', async () => {
    for (const value of ['v', 'bad', new Error('no')]) {
      const { clock, tries, answer, outcome } = hedged();
      await clock.advance(49);
      await answer(0, value);
      await clock.advance(1_000);
      expect(tries).toHaveLength(1);
      expect(clock.pendingTimers).toBe(0);
      if (value instanceof Error) await expect(outcome).rejects.toBe(value);
      else expect(await outcome).toEqual({ kind: 'done', value });
    }
  });

  it('orchestrator NFR-2: begins after the delay; the winner’s value counts and the loser’s signal aborts', async () => {
    for (const [winner, loser] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { clock, tries, answer, outcome, aborted } = hedged();
      await clock.advance(50);
      expect(tries).toHaveLength(2);
      await answer(winner, `v${winner}`);
      expect(await outcome).toEqual({ kind: 'done', value: `v${winner}` });
      expect(aborted()[loser]).toBe(true);
      expect(aborted()[winner]).toBe(false);
      expect(tries[loser]?.signal.reason).toMatchObject({ code: 'ABORTED' });
      await answer(loser, new Error('a late failure that nobody waits for'));
    }
  });

  it('orchestrator NFR-2: a try that fails leaves the answer to the other', async () => {
    for (const failure of ['bad', new Error('no')]) {
      const { clock, answer, outcome, protection } = hedged({
        circuitBreaker: { callsMin: 1, failureRate: 0.1 },
      });
      await clock.advance(50);
      await answer(0, failure);
      await answer(1, 'v');
      expect(await outcome).toEqual({ kind: 'done', value: 'v' });
      // One call that went well, not a failed one and a good one.
      expect(protection.state().circuit).toBe('closed');
    }
  });

  it('orchestrator NFR-2: all fail → the first failure in time, reported once', async () => {
    const { clock, answer, outcome, protection } = hedged({ circuitBreaker: { callsMin: 2 } });
    await clock.advance(50);
    await answer(1, new Error('first to fail'));
    await answer(0, new Error('second'));
    await expect(outcome).rejects.toThrow('first to fail');
    expect(protection.state().circuit).toBe('closed');
    const value = hedged();
    await value.clock.advance(50);
    await value.answer(0, 'bad');
    await value.answer(1, new Error('second'));
    expect(await value.outcome).toEqual({ kind: 'done', value: 'bad' });
  });

  it('orchestrator NFR-2: begins at most hedgesMax, each after a delay, all in one slot and with one token', async () => {
    const { clock, tries, aborted, answer, outcome, protection } = hedged({
      hedge: { delayMs: 50, hedgesMax: 2 },
      bulkhead: { concurrency: 1 },
      rateLimit: { rps: 1, burst: 2 },
    });
    for (const begun of [1, 1, 2, 2, 3, 3, 3]) {
      expect(tries).toHaveLength(begun);
      await clock.advance(25);
    }
    expect(protection.state().running).toBe(1);
    expect(protection.state().tokens).toBeCloseTo(1.175);
    await answer(2, 'v');
    expect(await outcome).toEqual({ kind: 'done', value: 'v' });
    expect(aborted()).toEqual([true, true, false]);
  });

  it('orchestrator NFR-2: a failure meanwhile does not hasten the next hedge, nor stop it while another try runs', async () => {
    const { clock, tries, answer, outcome } = hedged({ hedge: { delayMs: 50, hedgesMax: 2 } });
    await clock.advance(50);
    await answer(0, new Error('no'));
    await clock.advance(49);
    expect(tries).toHaveLength(2);
    await clock.advance(1);
    expect(tries).toHaveLength(3);
    await answer(2, 'v');
    expect(await outcome).toEqual({ kind: 'done', value: 'v' });
  });

  it('orchestrator NFR-2: timeout and abort end all tries, and no further one begins', async () => {
    const timed = hedged({ timeoutMs: 120, hedge: { delayMs: 50, hedgesMax: 5 } });
    await timed.clock.advance(120);
    expect(await timed.outcome).toEqual({ kind: 'timeout', began: true });
    expect(timed.aborted()).toEqual([true, true, true]);
    const cancelled = hedged({ hedge: { delayMs: 50, hedgesMax: 5 } });
    await cancelled.clock.advance(50);
    cancelled.caller.abort('cancelled');
    await expect(cancelled.outcome).rejects.toBe('cancelled');
    expect(cancelled.tries.map(({ signal }) => signal.reason)).toEqual(['cancelled', 'cancelled']);
    for (const { clock, tries } of [timed, cancelled]) {
      const begun = tries.length;
      await clock.advance(1_000);
      expect(tries).toHaveLength(begun);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('orchestrator NFR-2: a judgement that throws is a failure of the call and leaks nothing', async () => {
    const { protection, admitted } = openProtection({ bulkhead: { concurrency: 1 } });
    const isFailure = () => {
      throw new Error('cannot tell');
    };
    const { signal } = new AbortController();
    await expect(protection.run(admitted(), () => 'v', { signal, isFailure })).rejects.toThrow('cannot tell');
    expect(protection.state().running).toBe(0);
  });
});
