import { type Rng, seededRng, silentLogger } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { inline } from '../../src/define-routes.js';
import { ATTEMPT_DEFAULTS } from '../../src/options.js';
import { Outcome } from '../../src/outcome.js';
import { PreparedRoute } from '../../src/prepared-route.js';
import { fitOutcome, judgeOutcome, outcomeOfError } from '../../src/rules/outcomes.js';

const RETRY = Outcome.retry({ reason: 'LATER', attemptCount: 2, nextRetryAfterMs: 70 });

describe('the outcome of an attempt', () => {
  it('orchestrator NFR-2: only Ok completes; a Retry waits while attempts are left, and fails the operation otherwise', () => {
    expect(judgeOutcome(Outcome.ok(1), 1, 4)).toMatchObject({
      kind: 'final',
      state: 'COMPLETED',
      deadLetter: false,
    });
    expect(judgeOutcome(Outcome.fail('A', 'b'), 1, 4)).toMatchObject({
      kind: 'final',
      state: 'FAILED',
      deadLetter: true,
    });
    expect(judgeOutcome(RETRY, 3, 4)).toEqual({ kind: 'retry', outcome: RETRY, delayMs: 70, refused: false });
    expect(judgeOutcome(RETRY, 4, 4)).toMatchObject({
      kind: 'final',
      state: 'FAILED',
      outcome: RETRY,
      deadLetter: true,
    });
  });

  it('orchestrator NFR-2: doubles delays from one second to five minutes, with up to a tenth more', () => {
    const delays = (random: number, ...attempts: number[]) => {
      const rng: Rng = { ...seededRng(0), next: () => random };
      const setup = { ...ATTEMPT_DEFAULTS, clock: new ManualClock(), rng, logger: silentLogger };
      const route = new PreparedRoute({ ...setup, name: 'A.B', route: inline(() => 1), adapter: undefined });
      return attempts.map((attempt) => route.delayMs(attempt, undefined));
    };
    expect(delays(0, 1, 2, 3, 9, 10, 1_000)).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
    expect(delays(1, 1, 9, 10)).toEqual([1_100, 281_600, 300_000]);
  });

  it('orchestrator NFR-2: stores the cause of a final error', () => {
    const error = Object.assign(new Error('no', { cause: new Error('the card is blocked') }), {
      retryable: false,
    });
    expect(outcomeOfError(error, 1, () => 5)).toEqual({
      type: 'Fail',
      errorCode: 'HANDLER_FAILED',
      message: 'no',
      cause: { code: 'HANDLER_FAILED', message: 'the card is blocked' },
    });
    expect(outcomeOfError(new Error('x'.repeat(9_999)), 2, () => 5)).toMatchObject({
      attemptCount: 2,
      nextRetryAfterMs: 5,
    });
  });

  it('orchestrator FR-2: returns outcomes as JSON, and a Fail without a cause that cannot be stored', () => {
    expect(fitOutcome(Outcome.ok({ at: new Date(0), gone: undefined }), 1_000)).toEqual({
      type: 'Ok',
      data: { at: '1970-01-01T00:00:00.000Z' },
    });
    expect(fitOutcome(Outcome.fail('A', 'b', { deep: 'x'.repeat(100) }), 50)).toEqual({
      type: 'Fail',
      errorCode: 'A',
      message: 'b',
    });
    expect(fitOutcome(Outcome.fail('A', 'b', { deep: 1 }), 50)).toEqual({
      type: 'Fail',
      errorCode: 'A',
      message: 'b',
      cause: { deep: 1 },
    });
    expect(fitOutcome(Outcome.ok('x'.repeat(100), 'said'), 50)).toMatchObject({
      type: 'Fail',
      errorCode: 'OUTCOME_INVALID',
    });
    expect(Outcome.is(fitOutcome(Outcome.ok([1]), 50))).toBe(true);
    expect(fitOutcome(RETRY, 1)).toBe(RETRY);
  });
});
