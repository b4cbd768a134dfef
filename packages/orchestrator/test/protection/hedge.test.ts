import { type Latch, latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { ProtectionOptions } from '../../src/protection/options.js';
import { openProtection } from './open-protection.js';

interface Try {
  readonly signal: AbortSignal;
  readonly answer: Latch<string | Error>;
}

/** A call whose attempts are ended one by one. */
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
  outcome.catch(() => {}); // The test handles it.
  const aborted = () => tries.map(({ signal }) => signal.aborted);
  const answer = async (which: number, value: string | Error) => {
    (tries[which] as Try).answer.open(value);
    await opened.clock.advance(0);
  };
  return { ...opened, tries, caller, outcome, aborted, answer };
}

describe('orchestrator NFR-2: hedge', () => {
  it('orchestrator NFR-2: does not start if the first attempt ends before the delay', async () => {
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

  it('orchestrator NFR-2: starts after the delay, returns the first value and aborts the other attempt', async () => {
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

  it('orchestrator NFR-2: ignores the failure of an attempt while another one runs', async () => {
    for (const failure of ['bad', new Error('no')]) {
      const { clock, answer, outcome, protection } = hedged({
        circuitBreaker: { callsMin: 1, failureRate: 0.1 },
      });
      await clock.advance(50);
      await answer(0, failure);
      await answer(1, 'v');
      expect(await outcome).toEqual({ kind: 'done', value: 'v' });
      // One successful call, not a failed and a successful one.
      expect(protection.state().circuit).toBe('closed');
    }
  });

  it('orchestrator NFR-2: returns the first failure if all attempts fail, and reports it once', async () => {
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

  it('orchestrator NFR-2: starts at most hedgesMax, each after a delay, in one slot and with one token', async () => {
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

  it('orchestrator NFR-2: starts the next hedge on time after a failure, while another attempt runs', async () => {
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

  it('orchestrator NFR-2: ends all attempts at a timeout or abort, and starts no other', async () => {
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

  it('orchestrator NFR-2: treats an isFailure that throws as a failure, and leaks nothing', async () => {
    const { protection, admitted } = openProtection({ bulkhead: { concurrency: 1 } });
    const isFailure = () => {
      throw new Error('cannot tell');
    };
    const { signal } = new AbortController();
    await expect(protection.run(admitted(), () => 'v', { signal, isFailure })).rejects.toThrow('cannot tell');
    expect(protection.state().running).toBe(0);
  });
});
