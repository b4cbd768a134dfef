import { ProblemError } from '@millrace/contract/server-client';
import { describe, expect, it } from 'vitest';
import { lostStream } from '../../src/rules/lost-stream.js';

const problem = (status: number, retryAfterMs?: number) =>
  new ProblemError(
    { type: 'about:blank', title: '', status, detail: 'There are too many', code: 'ODD', retryable: true },
    retryAfterMs,
  );

describe('a stream that has ended', () => {
  it('is lost when nobody answers, or only something before the server', () => {
    for (const error of [undefined, new TypeError('Failed to fetch'), problem(502)])
      expect(lostStream(error, 0)).toEqual({ status: 'lost', problem: undefined, pauseMs: 500 });
  });

  it('is refused when the server says why, and is no sign of a server that is away', () => {
    for (const status of [401, 403, 429])
      expect(lostStream(problem(status), 0)).toMatchObject({
        status: 'refused',
        problem: 'There are too many',
      });
  });

  it('is asked for again when the server says so, else later and later', () => {
    expect(lostStream(problem(429, 9_000), 0).pauseMs).toBe(9_000);
    expect(lostStream(problem(503, 1_000), 5).pauseMs).toBe(1_000);
    expect([0, 1, 2, 3, 4, 50].map((failures) => lostStream(undefined, failures).pauseMs)).toEqual([
      500, 1_000, 2_000, 4_000, 5_000, 5_000,
    ]);
  });
});
