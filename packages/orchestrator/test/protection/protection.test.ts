import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { openProtection } from './open-protection.js';

const CIRCUIT = { failureRate: 0.5, windowMs: 10_000, callsMin: 4, openMs: 2_000, probes: 2 };

describe('orchestrator NFR-2: a protection without parts', () => {
  it('orchestrator NFR-2: admits everything, begins the work synchronously, and leaves no listener on the signal of the caller', async () => {
    const { protection, admitted, run } = openProtection({});
    const { signal } = new AbortController();
    let began = false;
    const outcome = run(
      admitted(),
      () => {
        began = true;
        return 'v';
      },
      signal,
    );
    expect(began).toBe(true);
    expect(await outcome).toEqual({ kind: 'done', value: 'v' });
    // A signal may live as long as its process. A listener that stays would leak with every call.
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(protection.state()).toEqual({ circuit: 'closed', running: 0, queued: 0, tokens: undefined });
  });

  it('orchestrator NFR-2: throws the error of the work, synchronous or not, even undefined', async () => {
    const { admitted, run, protection } = openProtection({ bulkhead: { concurrency: 1 } });
    const error = new Error('no');
    const throwing = () => {
      throw error;
    };
    await expect(run(admitted(), throwing)).rejects.toBe(error);
    await expect(run(admitted(), () => Promise.reject(undefined))).rejects.toBeUndefined();
    expect(protection.state().running).toBe(0);
  });

  it('orchestrator NFR-2: accepts a permit for one run or one withdrawal', async () => {
    const { admitted, run, protection } = openProtection({ bulkhead: { concurrency: 2 } });
    const other = admitted();
    const permit = admitted();
    await run(permit, () => 'v');
    await expect(run(permit, () => 'again')).rejects.toThrow('a permit is good for one run');
    protection.withdraw(permit);
    expect(protection.state().running).toBe(1);
    protection.withdraw(other);
    protection.withdraw(other);
    expect(protection.state().running).toBe(0);
    await expect(run(other, () => 'again')).rejects.toThrow('a permit is good for one run');
  });
});

describe('orchestrator NFR-2: timeout', () => {
  it('orchestrator NFR-2: aborts the work’s signal and frees the place of work that never settles', async () => {
    const { clock, begin, protection } = openProtection({ timeoutMs: 100, bulkhead: { concurrency: 1 } });
    const stuck = begin();
    await clock.advance(99);
    expect(stuck.signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect(await stuck.outcome).toEqual({ kind: 'timeout', began: true });
    expect(stuck.signals[0]?.reason).toMatchObject({ code: 'OPERATION_TIMEOUT' });
    expect(protection.state().running).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('orchestrator NFR-2: counts from admission, including the time before the run and in the queue', async () => {
    const { clock, begin, admitted } = openProtection({
      timeoutMs: 100,
      bulkhead: { concurrency: 1, queueMax: 2 },
    });
    const slow = admitted();
    await clock.advance(60);
    const first = begin(slow);
    const waiting = begin();
    await clock.advance(40);
    expect(await first.outcome).toEqual({ kind: 'timeout', began: true });
    expect(waiting.signals).toHaveLength(1);
    await clock.advance(60);
    expect(await waiting.outcome).toEqual({ kind: 'timeout', began: true });
  });

  it('orchestrator NFR-2: never begins work whose time is over before it has a slot', async () => {
    const { clock, begin, admitted, protection } = openProtection({
      timeoutMs: 100,
      bulkhead: { concurrency: 1, queueMax: 1 },
    });
    const unused = admitted();
    const waiting = begin();
    await clock.advance(100);
    expect(await waiting.outcome).toEqual({ kind: 'timeout', began: false });
    const late = begin(unused);
    expect(await late.outcome).toEqual({ kind: 'timeout', began: false });
    expect([...waiting.signals, ...late.signals]).toEqual([]);
    expect(protection.state()).toMatchObject({ running: 0, queued: 0 });
  });
});

describe('orchestrator NFR-2: abort by the caller', () => {
  it('orchestrator NFR-2: ends the call with the reason, aborts the work and frees its place even if the work continues', async () => {
    const { begin, protection, clock } = openProtection({ timeoutMs: 100, bulkhead: { concurrency: 1 } });
    const work = begin();
    work.abort('cancelled');
    await expect(work.outcome).rejects.toBe('cancelled');
    expect(work.signals[0]?.reason).toBe('cancelled');
    expect(protection.state().running).toBe(0);
    expect(clock.pendingTimers).toBe(0);
    work.end(new Error('a late failure that nobody waits for'));
  });

  it('orchestrator NFR-2: leaks nothing in the queue, before the run and inside the work', async () => {
    const { begin, run, admitted, protection } = openProtection({
      bulkhead: { concurrency: 1, queueMax: 2 },
      rateLimit: { rps: 1, burst: 4 },
    });
    const first = begin();
    const waiting = begin();
    waiting.abort('gone');
    await expect(waiting.outcome).rejects.toBe('gone');
    expect(waiting.signals).toEqual([]);
    await expect(run(admitted(), () => 'v', AbortSignal.abort('before'))).rejects.toBe('before');
    expect(protection.state()).toMatchObject({ running: 1, queued: 0, tokens: 3 });
    first.end('v');
    await first.outcome;
    const caller = new AbortController();
    const inside = run(
      admitted(),
      () => {
        caller.abort('inside');
        return 'v';
      },
      caller.signal,
    );
    await expect(inside).rejects.toBe('inside');
    expect(protection.state()).toMatchObject({ running: 0, queued: 0, tokens: 2 });
  });

  it('orchestrator NFR-2: is neither a failure nor a success for the circuit', async () => {
    const { begin, calls, clock, protection, refusal, admitted } = openProtection({
      circuitBreaker: CIRCUIT,
    });
    await calls('...');
    for (let n = 0; n < 10; n++) begin().abort();
    await calls('x');
    expect(protection.state().circuit).toBe('closed');
    await calls('xx');
    expect(protection.state().circuit).toBe('open');
    await clock.advance(2_000);
    const probe = begin();
    const other = admitted();
    expect(refusal().reason).toBe('CB_OPEN');
    probe.abort();
    await expect(probe.outcome).rejects.toBeDefined();
    const third = admitted();
    expect(refusal().reason).toBe('CB_OPEN');
    protection.withdraw(third);
    protection.withdraw(other);
    await calls('..');
    expect(protection.state().circuit).toBe('closed');
  });
});

describe('orchestrator NFR-2: circuit breaker around calls', () => {
  it('orchestrator NFR-2: counts a throw, a failing value and a timeout, and refuses with the time until it is half open', async () => {
    const { clock, calls, begin, refusal, protection, lines } = openProtection({
      timeoutMs: 100,
      circuitBreaker: CIRCUIT,
    });
    await calls('.xb');
    const slow = begin();
    await clock.advance(100);
    await slow.outcome;
    expect(protection.state().circuit).toBe('open');
    expect(refusal()).toEqual({ reason: 'CB_OPEN', retryAfterMs: 2_000 });
    await clock.advance(1_999.5);
    expect(refusal()).toEqual({ reason: 'CB_OPEN', retryAfterMs: 1 });
    await clock.advance(0.5);
    expect(protection.state().circuit).toBe('half-open');
    await calls('..');
    expect(protection.state().circuit).toBe('closed');
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { route: 'A.B', circuit: 'open' }],
      ['info', { route: 'A.B', circuit: 'half-open' }],
      ['info', { route: 'A.B', circuit: 'closed' }],
    ]);
  });

  it('orchestrator NFR-2: half open, refuses calls beyond `probes` with the probable time of the probes', async () => {
    const { clock, calls, protection, begin } = openProtection({ circuitBreaker: CIRCUIT });
    const slow = begin();
    await clock.advance(300);
    slow.end('v');
    await slow.outcome;
    await calls('xxx');
    await clock.advance(2_000);
    const answers = Array.from({ length: 100 }, () => protection.admit());
    const refusals = answers.flatMap((answer) => ('refusal' in answer ? [answer.refusal] : []));
    expect(refusals).toHaveLength(98);
    expect(refusals[0]?.reason).toBe('CB_OPEN');
    expect(refusals[0]?.retryAfterMs).toBeGreaterThan(1);
    expect(refusals[0]?.retryAfterMs).toBeLessThan(300);
  });

  it('orchestrator NFR-2: ignores a wall clock that jumps', async () => {
    const { clock, calls, refusal } = openProtection({ circuitBreaker: CIRCUIT });
    await calls('xxxx');
    clock.jump(86_400_000);
    expect(refusal().retryAfterMs).toBe(2_000);
    clock.jump(-10 * 86_400_000);
    expect(refusal().retryAfterMs).toBe(2_000);
  });

  it('orchestrator NFR-2: does not count a call that timed out before it began', async () => {
    const { clock, begin, protection, admitted } = openProtection({
      timeoutMs: 100,
      circuitBreaker: { ...CIRCUIT, callsMin: 1, failureRate: 0.1 },
    });
    const late = admitted();
    await clock.advance(100);
    expect(await begin(late).outcome).toEqual({ kind: 'timeout', began: false });
    expect(protection.state().circuit).toBe('closed');
  });
});

describe('orchestrator NFR-2: all of them', () => {
  it('orchestrator NFR-2: checks circuit, bulkhead and rate in this order, and takes nothing at a refusal', async () => {
    const { clock, calls, begin, admitted, refusal, protection } = openProtection({
      circuitBreaker: { ...CIRCUIT, callsMin: 2, probes: 1 },
      bulkhead: { concurrency: 1 },
      rateLimit: { rps: 1, burst: 3 },
    });
    const running = begin();
    await clock.advance(0);
    expect(refusal().reason).toBe('BULKHEAD_FULL');
    running.end(new Error('no'));
    await running.outcome.catch(() => {});
    await calls('x');
    expect(refusal().reason).toBe('CB_OPEN');
    expect(protection.state()).toEqual({ circuit: 'open', running: 0, queued: 0, tokens: 1 });

    await clock.advance(2_000); // Three tokens, half open.
    await calls('.');
    await calls('..');
    expect(protection.state()).toEqual({ circuit: 'closed', running: 0, queued: 0, tokens: 0 });
    expect(refusal().reason).toBe('RATE_LIMIT');
    expect(protection.state().running).toBe(0);

    await clock.advance(1_000);
    await calls('x');
    expect(refusal().reason).toBe('RATE_LIMIT');
    await clock.advance(1_000);
    await calls('x');
    expect(protection.state().circuit).toBe('open');
    await clock.advance(2_000);
    const probe = admitted();
    for (let n = 0; n < 3; n++) expect(refusal().reason).toBe('CB_OPEN');
    protection.withdraw(probe);
    expect(protection.state()).toEqual({ circuit: 'half-open', running: 0, queued: 0, tokens: 2 });
  });

  it('orchestrator NFR-2: half open, takes no probe at a refusal by the rate', async () => {
    const { clock, calls, refusal, admitted, protection } = openProtection({
      circuitBreaker: { ...CIRCUIT, callsMin: 2, probes: 1, openMs: 100 },
      rateLimit: { rps: 1, burst: 2 },
    });
    await calls('xx');
    await clock.advance(100);
    for (let n = 0; n < 3; n++) expect(refusal()).toEqual({ reason: 'RATE_LIMIT', retryAfterMs: 900 });
    await clock.advance(900);
    expect(admitted()).toBeDefined();
    expect(protection.state().circuit).toBe('half-open');
  });
});
