import { RateLimitedError, type RetryPolicy, toWorkError, type WorkError } from '@millrace/foundation';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BULK_ACTION_DEFAULTS, resolveBulkActionConfig } from '../../src/options.js';
import { decideOutcome, type FailedTryFacts } from '../../src/rules/retry.js';
import { signatureOf } from '../../src/rules/signature.js';

const DAY_MS = 86_400_000;
const failure = (patch: Partial<WorkError> = {}): WorkError => ({
  code: 'HANDLER_FAILED',
  message: 'connection reset',
  retryable: true,
  ...patch,
});
const decide = (patch: Partial<FailedTryFacts> = {}) =>
  decideOutcome({
    error: failure(),
    processorType: 'SEND_EMAIL',
    retryCount: 0,
    policy: undefined,
    config: BULK_ACTION_DEFAULTS,
    random: 0,
    ...patch,
  });
const delayOf = (patch: Partial<FailedTryFacts>) => {
  const outcome = decide(patch);
  return outcome.kind === 'retry' ? outcome.delayMs : undefined;
};

const error = { code: 'HANDLER_FAILED', message: 'connection reset' };

describe('bulk-action BA-8: what a failed try comes to', () => {
  it('bulk-action BA-8: a retryable failure is tried again and spends a retry', () => {
    const retry = { kind: 'retry', error, reason: 'TRANSIENT_ERROR', spendsRetry: true };
    expect(decide()).toEqual({ ...retry, delayMs: 1000 });
    expect(decide({ retryCount: 2, random: 0.5 })).toEqual({ ...retry, delayMs: 3000 });
  });

  it('bulk-action BA-8: with its retries spent it is dead, with its signature', () => {
    expect(decide({ retryCount: 3 })).toEqual({
      kind: 'failure',
      error,
      dead: true,
      signature: 'SEND_EMAIL HANDLER_FAILED connection reset',
    });
    const config = resolveBulkActionConfig({ workerPool: { maxRetryCount: 0 } });
    expect(decide({ config })).toMatchObject({ kind: 'failure', dead: true });
  });

  it('bulk-action BA-8: a failure that is not retryable ends at once and is no dead letter', () => {
    expect(decide({ error: failure({ retryable: false }) })).toMatchObject({ kind: 'failure', dead: false });
    const asked = failure({ retryable: false, retryAfterMs: 5 });
    expect(decide({ error: asked, policy: { retries: 9 } })).toMatchObject({ kind: 'failure', dead: false });
  });

  it('bulk-action BA-8: a throttled try waits as long as the service asks and spends nothing', () => {
    const throttled = { kind: 'retry', reason: 'API_THROTTLED', spendsRetry: false };
    const limited = (retryAfterMs?: number) => toWorkError(new RateLimitedError({ retryAfterMs }));
    expect(decide({ error: limited(2500), retryCount: 3 })).toMatchObject({ ...throttled, delayMs: 2500 });
    expect(decide({ error: limited(0) })).toMatchObject({ ...throttled, delayMs: 0 });
    expect(decide({ error: limited(0.2) })).toMatchObject({ ...throttled, delayMs: 1 });
    expect(decide({ error: limited() })).toMatchObject({ ...throttled, delayMs: 1000 });
    // Those refused together come back apart, and never earlier than asked.
    expect(decide({ error: limited(), random: 0.9 })).toMatchObject({ ...throttled, delayMs: 1450 });
    expect(decide({ error: limited(2000), random: 0.5 })).toMatchObject({ ...throttled, delayMs: 2500 });
    expect(decide({ error: limited(DAY_MS * 400) })).toMatchObject({ ...throttled, delayMs: DAY_MS });
  });

  it('bulk-action BA-8: a type without a processor here comes again, because another instance may have it', () => {
    const missing = failure({ code: 'PROCESSOR_NOT_FOUND' });
    const retry = { kind: 'retry', reason: 'NO_PROCESSOR', spendsRetry: false };
    expect(decide({ error: missing, retryCount: 99 })).toMatchObject({ ...retry, delayMs: 1000 });
    expect(decide({ error: missing, random: 0.5 })).toMatchObject({ ...retry, delayMs: 750 });
  });

  it('bulk-action BA-8: a delay that the error asks for wins over the policy, exactly and at most a day', () => {
    const policy: RetryPolicy = { retries: 5, backoff: 'linear' };
    expect(delayOf({ error: failure({ retryAfterMs: 123_456 }), policy, random: 0.9 })).toBe(123_456);
    expect(delayOf({ error: failure({ retryAfterMs: Number.POSITIVE_INFINITY }) })).toBe(DAY_MS);
    expect(delayOf({ error: failure({ retryAfterMs: Number.NaN }) })).toBe(1000);
    expect(delayOf({ error: failure({ retryAfterMs: -5 }) })).toBe(1000);
  });

  it("bulk-action BA-8: the processor's own policy replaces the configured number of retries", () => {
    expect(decide({ policy: { retries: 0 } })).toMatchObject({ kind: 'failure', dead: true });
    expect(decide({ policy: { retries: 10 }, retryCount: 9 })).toMatchObject({ kind: 'retry' });
    expect(decide({ policy: { retries: 10 }, retryCount: 10 })).toMatchObject({
      kind: 'failure',
      dead: true,
    });
  });

  it('bulk-action BA-8: back-off is exponential, linear or a function, never above the maximum', () => {
    const delays = (backoff: RetryPolicy['backoff']) =>
      [0, 1, 2, 8].map((retryCount) =>
        delayOf({ retryCount, policy: { retries: 99, jitter: 0, ...(backoff && { backoff }) }, random: 0.9 }),
      );
    expect(delays(undefined)).toEqual([1000, 2000, 4000, 60_000]);
    expect(delays('exponential')).toEqual([1000, 2000, 4000, 60_000]);
    expect(delays('linear')).toEqual([1000, 2000, 3000, 9000]);
    expect(delays((attempt) => attempt * 25_000.7)).toEqual([25_000, 50_001, 60_000, 60_000]);
    expect(delays(() => 0)).toEqual([0, 0, 0, 0]);
  });

  it('bulk-action BA-8: a back-off function gets the number of the try and what was thrown', () => {
    const thrown = new Error('reset');
    const seen: unknown[] = [];
    const backoff = (...given: unknown[]) => seen.push(given);
    const policy = { retries: 9, backoff };
    decide({ error: toWorkError(thrown), retryCount: 4, policy });
    const plain = failure();
    decide({ error: plain, policy });
    expect(seen).toEqual([
      [5, thrown],
      [1, plain],
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('bug');
      },
    ],
    ['answers NaN', () => Number.NaN],
    ['answers infinity', () => Number.POSITIVE_INFINITY],
    ['answers a negative number', () => -1],
    ['answers no number', () => '100' as unknown as number],
    ['answers a promise', () => Promise.resolve(5) as unknown as number],
  ])('bulk-action BA-8: a back-off function that %s falls back to exponential', (_what, backoff) => {
    expect(delayOf({ retryCount: 1, policy: { retries: 9, backoff } })).toBe(2000);
  });

  it('bulk-action BA-8: jitter is the share of the delay that is random; nonsense counts as a half', () => {
    const at = (jitter?: number) =>
      delayOf({ policy: { retries: 9, ...(jitter !== undefined && { jitter }) }, random: 0.9 });
    expect([at(), at(0), at(0.1), at(1)]).toEqual([550, 1000, 910, 99]);
    expect([at(-1), at(7), at(Number.NaN)]).toEqual([550, 550, 550]);
  });

  it('bulk-action BA-8: a message is cut to 2,000 characters and never in the middle of one', () => {
    const long = decide({ error: failure({ message: 'x'.repeat(5000) }) });
    expect(long).toMatchObject({ error: { message: 'x'.repeat(2000) } });
    const emoji = decide({ error: failure({ message: `x${'😀'.repeat(2000)}` }) });
    const { message } = emoji.kind === 'success' ? { message: '' } : emoji.error;
    expect(message).toHaveLength(1999);
    expect(Buffer.from(message, 'utf8').toString('utf8')).toBe(message);
  });

  it('bulk-action BA-8: whatever goes wrong, a job is run at most maxRetryCount times again, throttles not counted', () => {
    const codes = fc.constantFrom('HANDLER_FAILED', 'JOB_TIMEOUT', 'RATE_LIMITED', 'PROCESSOR_NOT_FOUND');
    const retryAfterMs = fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: undefined });
    const tries = fc.array(
      fc.record({ code: codes, retryAfterMs, random: fc.double({ min: 0, max: 0.999, noNaN: true }) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(fc.nat(6), tries, (maxRetryCount, failures) => {
        const config = resolveBulkActionConfig({ workerPool: { maxRetryCount } });
        let retryCount = 0;
        let spending = 0;
        for (const { code, retryAfterMs: asked, random } of failures) {
          const given = failure({ code, ...(asked !== undefined && { retryAfterMs: asked }) });
          const outcome = decide({ error: given, config, retryCount, random });
          const blameless = code === 'RATE_LIMITED' || code === 'PROCESSOR_NOT_FOUND';
          if (outcome.kind !== 'retry') {
            expect(outcome).toMatchObject({ kind: 'failure', dead: true });
            expect(blameless).toBe(false);
            expect(spending).toBe(maxRetryCount);
            return;
          }
          expect(outcome.spendsRetry).toBe(!blameless);
          expect(Number.isInteger(outcome.delayMs) && outcome.delayMs >= 0).toBe(true);
          // A throttled one is spread by up to half.
          const spread = code === 'RATE_LIMITED' ? 1.5 : 1;
          expect(outcome.delayMs).toBeLessThanOrEqual((asked === undefined ? 60_000 : DAY_MS) * spread);
          if (outcome.spendsRetry) {
            retryCount += 1;
            spending += 1;
          }
          expect(spending).toBeLessThanOrEqual(maxRetryCount);
        }
      }),
    );
  });

  it('bulk-action BA-8: the signature of a dead letter is that of its cut message', () => {
    const message = `cannot open 'a/b' after 17 tries ${'y'.repeat(5000)}`;
    const outcome = decide({ error: failure({ message }), retryCount: 3 });
    expect(outcome).toMatchObject({ signature: signatureOf('SEND_EMAIL', 'HANDLER_FAILED', message) });
  });
});
