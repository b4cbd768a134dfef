import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import type { Permit } from '../../src/protection/protection.js';
import { type HandWork, openProtection } from './open-protection.js';

const OPTIONS = {
  timeoutMs: 120,
  circuitBreaker: { failureRate: 0.5, windowMs: 300, callsMin: 4, openMs: 60, probes: 2 },
  bulkhead: { concurrency: 3, queueMax: 3 },
  rateLimit: { rps: 200, burst: 6 },
  hedge: { delayMs: 20, hedgesMax: 2 },
} as const;
const STEPS = 60;

describe('orchestrator NFR-2: any order of admissions, runs, withdrawals, ends, aborts and timeouts', () => {
  it('orchestrator NFR-2: never runs more calls than slots, and leaks no slot, probe, token, timer or permit', async () => {
    const rng = seededRng('protection');
    const met = new Map<string, number>();
    const meet = (what: string) => void met.set(what, (met.get(what) ?? 0) + 1);

    for (let round = 0; round < 80; round++) {
      const { clock, protection, begin, calls, starts } = openProtection(OPTIONS);
      const permits: Permit[] = [];
      const works: HandWork[] = [];
      const ends: Promise<void>[] = [];
      const take = <T>(from: T[]): T | undefined => from.splice(rng.integer(0, from.length), 1)[0];
      const watch = (work: HandWork) => {
        works.push(work);
        const end = (how: string) => meet(how);
        ends.push(
          work.outcome.then(
            ({ kind }) => end(kind),
            () => end('thrown'),
          ),
        );
      };
      const steps: (() => unknown)[] = [
        () => {
          const answer = protection.admit();
          if ('permit' in answer) permits.push(answer.permit);
          else meet(answer.refusal.reason);
          if ('refusal' in answer) expect(answer.refusal.retryAfterMs).toBeGreaterThanOrEqual(1);
        },
        () => {
          const permit = take(permits);
          if (permit) watch(begin(permit));
        },
        () => {
          const permit = take(permits);
          if (permit && rng.next() < 0.3) protection.withdraw(permit);
          else if (permit) permits.push(permit);
        },
        () => take(works)?.end('v'),
        () => take(works)?.end(rng.next() < 0.5 ? 'bad' : new Error('no')),
        () => rng.next() < 0.4 && take(works)?.abort(),
        () => clock.advance(rng.pick([0, 0, 1, 7, 30, 90])),
      ];
      for (let step = 0; step < STEPS; step++) {
        const act = rng.pick([0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6]);
        await steps[act]?.();
        const { running, queued, tokens, circuit } = protection.state();
        meet(circuit);
        expect(running).toBeLessThanOrEqual(3);
        expect(queued).toBeLessThanOrEqual(running === 3 ? 3 : 0);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(tokens).toBeLessThanOrEqual(6);
      }
      for (const permit of permits) protection.withdraw(permit);
      // The timeout ends all other works.
      await clock.advance(1_000);
      await Promise.all(ends);
      expect(protection.state()).toMatchObject({ running: 0, queued: 0, tokens: 6 });
      expect(clock.pendingTimers).toBe(0);
      expectWithinRate(starts);
      // A leaked probe would refuse one of these, and a leaked slot the three after them.
      await calls('..');
      expect(protection.state().circuit).toBe('closed');
      const all = Array.from({ length: 6 }, () => protection.admit());
      expect(all.filter((answer) => 'permit' in answer).length).toBeGreaterThanOrEqual(4);
      expect(protection.state().running).toBe(3);
    }
    const names = [
      'CB_OPEN',
      'BULKHEAD_FULL',
      'RATE_LIMIT',
      'done',
      'timeout',
      'thrown',
      'open',
      'half-open',
      'closed',
    ];
    for (const name of names) expect(met.get(name) ?? 0, name).toBeGreaterThan(10);
  });
});

it('orchestrator NFR-2: an abort at any moment of a hand-over loses no slot and no token', async () => {
  const began: boolean[] = [];
  for (let turns = 0; turns < 30; turns++) {
    const { protection, begin } = openProtection({
      bulkhead: { concurrency: 1, queueMax: 2 },
      rateLimit: { rps: 1, burst: 3 },
    });
    const [first, second, third] = [begin(), begin(), begin()];
    first.end('v');
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    second.abort('now');
    await expect(second.outcome).rejects.toBe('now');
    await first.outcome;
    third.end('v');
    expect(await third.outcome).toEqual({ kind: 'done', value: 'v' });
    began.push(second.signals.length > 0);
    expect(protection.state()).toMatchObject({ running: 0, queued: 0, tokens: began.at(-1) ? 0 : 1 });
  }
  expect(new Set(began)).toEqual(new Set([false, true]));
});

/** Checks that work began no faster than the rate, including work that waited for a slot. */
function expectWithinRate(starts: readonly number[]): void {
  const { rps, burst } = OPTIONS.rateLimit;
  starts.forEach((from, first) => {
    starts.slice(first).forEach((to, more) => {
      expect(more + 1).toBeLessThanOrEqual((rps * (to - from + 0.002)) / 1000 + burst);
    });
  });
}
