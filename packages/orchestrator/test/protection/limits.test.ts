import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Bulkhead } from '../../src/protection/bulkhead.js';
import { openProtection } from './open-protection.js';

describe('orchestrator NFR-2: bulkhead', () => {
  it('orchestrator NFR-2: runs `concurrency`, lets `queueMax` wait, refuses the rest with an estimate', async () => {
    const { clock, begin, refusal, protection } = openProtection({
      bulkhead: { concurrency: 2, queueMax: 1 },
    });
    const [a, b, c] = [begin(), begin(), begin()];
    expect([a, b, c].map(({ signals }) => signals.length)).toEqual([1, 1, 0]);
    expect(protection.state()).toMatchObject({ running: 2, queued: 1 });
    // No call has ended yet, so the estimate is the default.
    expect(refusal()).toEqual({ reason: 'BULKHEAD_FULL', retryAfterMs: 500 });
    await clock.advance(80);
    a.end('v');
    await a.outcome;
    await clock.advance(0);
    expect(c.signals).toHaveLength(1);
    const d = begin();
    expect(d.signals).toHaveLength(0);
    expect(refusal()).toEqual({ reason: 'BULKHEAD_FULL', retryAfterMs: 40 });
  });

  it('orchestrator NFR-2: serves calls in order of admission, and gives no newcomer a slot that is handed over', async () => {
    const { clock, begin, admitted, protection } = openProtection({
      bulkhead: { concurrency: 1, queueMax: 4 },
    });
    const first = begin();
    const places = [admitted(), admitted(), admitted()] as const;
    // Run in another order than admitted. The order of admission counts.
    const third = begin(places[2]);
    const second = begin(places[1]);
    first.end('v');
    await first.outcome;
    const newcomer = begin();
    await clock.advance(0);
    expect([second, third, newcomer].map(({ signals }) => signals.length)).toEqual([0, 0, 0]);
    expect(protection.state()).toMatchObject({ running: 1, queued: 3 });
    protection.withdraw(places[0]);
    await clock.advance(0);
    expect([second, third, newcomer].map(({ signals }) => signals.length)).toEqual([1, 0, 0]);
    second.end('v');
    await clock.advance(0);
    expect([third, newcomer].map(({ signals }) => signals.length)).toEqual([1, 0]);
  });

  it('orchestrator NFR-2: a million waiting calls get their slots in order, each in constant time', () => {
    const bulkhead = new Bulkhead({ concurrency: 1, queueMax: 1_000_000 });
    let running = bulkhead.take();
    const waiting = Array.from({ length: 1_000_000 }, () => bulkhead.take());
    expect([bulkhead.queued, bulkhead.isFull]).toEqual([1_000_000, true]);
    let inOrder = 0;
    // A queue that walks over the calls that have left takes minutes here.
    for (const next of waiting) {
      if (next.hasSlot) break;
      bulkhead.leave(running);
      running = next;
      if (next.hasSlot) inOrder += 1;
    }
    bulkhead.leave(running);
    expect([inOrder, bulkhead.queued, bulkhead.slotsTaken]).toEqual([1_000_000, 0, 0]);
  });
});

describe('orchestrator NFR-2: rate limit', () => {
  it('orchestrator NFR-2: admits a caller that waited its retryAfterMs, at any fraction of a millisecond', async () => {
    const rates = fc.oneof(
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0.05, max: 50, noNaN: true }),
    );
    const shares = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(rates, fc.integer({ min: 1, max: 20 }), shares, async (rps, burst, gaps) => {
        const { clock, protection, calls } = openProtection({ rateLimit: { rps, burst } });
        for (const gap of gaps) {
          await clock.advance((gap * 1_000) / rps);
          const answer = protection.admit();
          if ('permit' in answer) protection.withdraw(answer.permit);
          else await clock.advance(answer.refusal.retryAfterMs);
          await calls('.');
        }
      }),
      // Half a microsecond that is rounded up before the wait and down after it.
      { examples: [[1, 1, [2.1920045, 0]]] },
    );
  });

  it('orchestrator NFR-2: refuses with the time until the next token, and returns the token of a withdrawn call', async () => {
    const { clock, calls, admitted, refusal, protection } = openProtection({
      rateLimit: { rps: 10, burst: 2 },
    });
    await calls('.');
    const permit = admitted();
    expect(refusal()).toEqual({ reason: 'RATE_LIMIT', retryAfterMs: 100 });
    protection.withdraw(permit);
    await calls('.');
    await clock.advance(30);
    expect(refusal()).toEqual({ reason: 'RATE_LIMIT', retryAfterMs: 70 });
    expect(protection.state().tokens).toBeCloseTo(0.3);
    await clock.advance(70);
    await calls('.');
    expect(refusal().reason).toBe('RATE_LIMIT');
  });

  it('orchestrator NFR-2: a queued call holds no token, and takes or awaits one when it gets its slot', async () => {
    const { clock, begin, refusal, protection } = openProtection({
      bulkhead: { concurrency: 2, queueMax: 9 },
      rateLimit: { rps: 10, burst: 2 },
    });
    const [a, b] = [begin(), begin()];
    await clock.advance(100);
    const waiting = [begin(), begin(), begin()];
    expect(protection.state()).toMatchObject({ running: 2, queued: 3, tokens: 1 });
    a.end('v');
    b.end('v');
    await clock.advance(0);
    // Both slots were handed over, but there was one token.
    expect(waiting.map(({ signals }) => signals.length)).toEqual([1, 0, 0]);
    expect(protection.state()).toMatchObject({ running: 2, queued: 1 });
    // A newcomer does not get a token that another call waits for.
    expect(refusal()).toEqual({ reason: 'RATE_LIMIT', retryAfterMs: 200 });
    await clock.advance(99);
    expect(waiting.map(({ signals }) => signals.length)).toEqual([1, 0, 0]);
    await clock.advance(1);
    expect(waiting.map(({ signals }) => signals.length)).toEqual([1, 1, 0]);
    waiting[0]?.end('v');
    await clock.advance(50);
    waiting[2]?.abort('while it waits for its token');
    await expect(waiting[2]?.outcome).rejects.toBe('while it waits for its token');
    expect(protection.state()).toMatchObject({ running: 1, queued: 0, tokens: 0.5 });
    waiting[1]?.end('v');
    await waiting[1]?.outcome;
    expect(clock.pendingTimers).toBe(0);
  });
});
