import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AbortError, isRetryError, type RetryContext, RetryError, retry } from '../src/index.js';
import { expectNothingLeft, outcome } from './leftovers.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Fails the first `times` calls, then gives 'done'. */
function failing(times: number, error: unknown = new Error('busy')) {
  let calls = 0;
  return vi.fn(async (_context: RetryContext) => {
    if (++calls <= times) throw error;
    return 'done';
  });
}

describe('tries', () => {
  it('async-utils FR-001: makes 3 retries, 4 tries in all', async () => {
    const fn = failing(99);
    const result = outcome(retry(fn));
    await vi.runAllTimersAsync();
    expect((await result).error).toMatchObject({ attempts: 4 });
    expect(fn).toHaveBeenCalledTimes(4);
    expectNothingLeft();
  });

  it('async-utils FR-001: gives the result of the first try that succeeds, and numbers the tries from 1', async () => {
    const fn = failing(2);
    const result = retry(fn);
    await vi.runAllTimersAsync();
    expect(await result).toBe('done');
    expect(fn.mock.calls.map(([{ attempt }]) => attempt)).toEqual([1, 2, 3]);
  });

  it('async-utils EC-2: with retries 0 there is one try, and its failure is a RetryError', async () => {
    const cause = new Error('busy');
    const fn = failing(1, cause);
    const { error } = await outcome(retry(fn, { retries: 0 }));
    expect(error).toBeInstanceOf(RetryError);
    expect(error).toMatchObject({ attempts: 1, cause, errors: [cause] });
    expect(fn).toHaveBeenCalledOnce();
  });

  it('async-utils SC-002: wrapping is all it takes, for async and for plain functions', async () => {
    const existing = async () => 42;
    expect(await retry(existing)).toBe(42);
    expect(await retry(() => 'plain')).toBe('plain');
    expect(await retry(() => undefined)).toBeUndefined();
  });

  it('async-utils EC-7: nested retries are independent of each other', async () => {
    const inner = vi.fn(async () => {
      throw new Error('busy');
    });
    const result = outcome(retry(() => retry(inner, { retries: 1 }), { retries: 2 }));
    await vi.runAllTimersAsync();
    const { error } = await result;
    expect(inner).toHaveBeenCalledTimes(6);
    expect(error).toMatchObject({ attempts: 3 });
    expect(isRetryError((error as RetryError).cause)).toBe(true);
  });

  it('a synchronous throw counts as a failed try', async () => {
    let calls = 0;
    const result = retry(() => {
      if (++calls === 1) throw new Error('sync');
      return calls;
    });
    await vi.runAllTimersAsync();
    expect(await result).toBe(2);
  });
});

describe('back-off', () => {
  const delaysOf = async (options: Parameters<typeof retry>[1], error: unknown = new Error('busy')) => {
    const delays: number[] = [];
    const result = outcome(
      retry(failing(99, error), { ...options, onRetry: ({ delayMs }) => delays.push(delayMs) }),
    );
    await vi.runAllTimersAsync();
    await result;
    return delays;
  };

  it('async-utils FR-002: exponential by default: 100, 200, 400 … at most 10 s', async () => {
    expect(await delaysOf({ retries: 9 })).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  it('async-utils FR-002: the delay really passes between the tries', async () => {
    const fn = failing(1);
    const result = retry(fn);
    await vi.advanceTimersByTimeAsync(99);
    expect(fn).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fn).toHaveBeenCalledTimes(2);
    expect(await result).toBe('done');
  });

  it('async-utils FR-003: linear is a constant second', async () => {
    expect(await delaysOf({ backoff: 'linear' })).toEqual([1000, 1000, 1000]);
  });

  it('async-utils FR-004: a function decides by the failed try and its error', async () => {
    const error = new Error('busy');
    const backoff = vi.fn((attempt: number) => attempt * 7);
    expect(await delaysOf({ backoff }, error)).toEqual([7, 14, 21]);
    expect(backoff.mock.calls).toEqual([
      [1, error],
      [2, error],
      [3, error],
    ]);
  });

  it('an error that carries retryAfterMs wins over the back-off and over jitter', async () => {
    const error = Object.assign(new Error('slow down'), { retryAfterMs: 333 });
    expect(await delaysOf({ jitter: 1 }, error)).toEqual([333, 333, 333]);
    expect(await delaysOf({}, Object.assign(new Error('x'), { retryAfterMs: Number.NaN }))).toEqual([
      100, 200, 400,
    ]);
  });

  it('jitter takes away up to its share', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    expect(await delaysOf({ jitter: 0.5 })).toEqual([75, 150, 300]);
    vi.restoreAllMocks();
  });

  it('a back-off that gives no duration fails the call with the error it hid as the cause', async () => {
    const cause = new Error('busy');
    for (const bad of [Number.NaN, -1, '5' as unknown as number]) {
      const { error } = await outcome(retry(failing(1, cause), { backoff: () => bad }));
      expect(error).toBeInstanceOf(RangeError);
      expect(error).toMatchObject({ cause });
    }
    expectNothingLeft();
  });

  it('a back-off that throws fails the call with what it threw', async () => {
    const broken = new Error('broken back-off');
    const backoff = () => {
      throw broken;
    };
    expect((await outcome(retry(failing(1), { backoff }))).error).toBe(broken);
  });
});

describe('filter', () => {
  it('async-utils FR-005: shouldRetry false fails at once with the original error', async () => {
    const original = new Error('400');
    const fn = failing(9, original);
    const shouldRetry = vi.fn(() => false);
    expect((await outcome(retry(fn, { shouldRetry }))).error).toBe(original);
    expect(fn).toHaveBeenCalledOnce();
    expect(shouldRetry).toHaveBeenCalledWith(original, 1);
    expectNothingLeft();
  });

  it('async-utils FR-005: it may be async and change its mind', async () => {
    const fn = failing(9);
    const result = outcome(retry(fn, { shouldRetry: async (_, attempt) => attempt < 3 }));
    await vi.runAllTimersAsync();
    expect((await result).error).not.toBeInstanceOf(RetryError);
    expect(fn).toHaveBeenCalledTimes(3);
  });

  it('what shouldRetry itself throws is the failure', async () => {
    const broken = new Error('broken filter');
    const shouldRetry = () => {
      throw broken;
    };
    expect((await outcome(retry(failing(9), { shouldRetry }))).error).toBe(broken);
  });

  it('an AbortError is never retried, not even a foreign one', async () => {
    for (const error of [new AbortError(), new DOMException('stop', 'AbortError')]) {
      const fn = failing(9, error);
      expect((await outcome(retry(fn))).error).toBe(error);
      expect(fn).toHaveBeenCalledOnce();
    }
  });
});

describe('errors', () => {
  it('async-utils FR-021: RetryError tells attempts, all errors and the last one as cause', async () => {
    const errors = [new Error('one'), 'two', new Error('three'), undefined];
    let call = 0;
    const result = outcome(
      retry(() => {
        throw errors[call++];
      }),
    );
    await vi.runAllTimersAsync();
    const { error } = await result;
    expect(error).toBeInstanceOf(RetryError);
    expect(error).toMatchObject({
      name: 'RetryError',
      code: 'RETRY_EXHAUSTED',
      attempts: 4,
      errors,
      cause: undefined,
    });
    expect((error as Error).message).toBe('All 4 attempts failed; the last with: undefined');
  });

  it('async-utils FR-024: the cause is the very object that was thrown', async () => {
    const last = new Error('the last');
    const { error } = await outcome(retry(failing(9, last), { retries: 0 }));
    expect((error as Error).cause).toBe(last);
    expect((error as Error).message).toContain('the last');
  });
});

describe('hooks', () => {
  it('async-utils FR-025: onRetry hears of every retry with its delay', async () => {
    const onRetry = vi.fn();
    const error = new Error('busy');
    const result = retry(failing(2, error), { onRetry });
    await vi.runAllTimersAsync();
    await result;
    expect(onRetry.mock.calls).toEqual([
      [{ attempt: 1, error, delayMs: 100 }],
      [{ attempt: 2, error, delayMs: 200 }],
    ]);
  });

  it('async-utils FR-026: onSuccess hears once, with the number of tries and the time', async () => {
    const onSuccess = vi.fn();
    const onError = vi.fn();
    const result = retry(failing(2), { onSuccess, onError });
    await vi.runAllTimersAsync();
    await result;
    expect(onSuccess.mock.calls).toEqual([[{ attempts: 3, durationMs: 300 }]]);
    expect(onError).not.toHaveBeenCalled();
  });

  it('async-utils FR-026: onError hears once of the error that the caller gets', async () => {
    const onError = vi.fn();
    const result = outcome(retry(failing(9), { retries: 1, onError }));
    await vi.runAllTimersAsync();
    const { error } = await result;
    expect(onError.mock.calls).toEqual([[{ error, attempts: 2, durationMs: 100 }]]);
  });

  it('a hook that throws or rejects never changes the result', async () => {
    const throws = () => {
      throw new Error('hook');
    };
    const rejects = async () => {
      throw new Error('hook');
    };
    for (const hook of [throws, rejects]) {
      const hooks = { onRetry: hook, onSuccess: hook, onError: hook };
      const good = retry(failing(1), hooks);
      const bad = outcome(retry(failing(9), { retries: 1, ...hooks }));
      await vi.runAllTimersAsync();
      expect(await good).toBe('done');
      expect((await bad).error).toBeInstanceOf(RetryError);
    }
  });
});
