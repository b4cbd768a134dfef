import { describe, expect, it, vi } from 'vitest';
import { AbortError, isRetryError, type RetryContext, RetryError, retry } from '../src/index.js';
import { expectNothingLeft, outcome, outcomeAfter, throwing, useFakeTime } from './leftovers.js';

useFakeTime();

/** Fails the first `times` calls, then returns 'done'. */
function failing(times: number, error: unknown = new Error('busy')) {
  let calls = 0;
  return vi.fn(async (_context: RetryContext) => {
    if (++calls <= times) throw error;
    return 'done';
  });
}

describe('attempts', () => {
  it('async-utils FR-001, async-utils FR-021: fails with RetryError after 3 retries', async () => {
    const errors = [new Error('one'), 'two', new Error('three'), undefined];
    const fn = vi.fn(({ attempt }: RetryContext) => throwing(errors[attempt - 1])());
    const { error } = await outcomeAfter(retry(fn));
    expect(error).toBeInstanceOf(RetryError);
    expect(error).toMatchObject({ attempts: 4, errors, cause: undefined });
    expect((error as Error).message).toBe('All 4 attempts failed; the last with: undefined');
    expect(fn).toHaveBeenCalledTimes(4);
    expectNothingLeft();
  });

  it('async-utils FR-001: returns the first result, and numbers the attempts from 1', async () => {
    const fn = failing(2);
    expect(await outcomeAfter(retry(fn))).toEqual({ value: 'done' });
    expect(fn.mock.calls.map(([{ attempt }]) => attempt)).toEqual([1, 2, 3]);
  });

  it('async-utils EC-2, async-utils FR-024: with retries 0 fails after one attempt, with its error as cause', async () => {
    const cause = new Error('busy');
    const fn = failing(1, cause);
    const { error } = (await outcome(retry(fn, { retries: 0 }))) as { error: RetryError };
    expect(isRetryError(error) && error.attempts).toBe(1);
    expect(error.cause).toBe(cause);
    expect(error.errors).toEqual([cause]);
    expect(fn).toHaveBeenCalledOnce();
  });

  it('async-utils SC-002: wraps async and plain functions as they are', async () => {
    expect(await retry(async () => 42)).toBe(42);
    expect(await retry(() => 'plain')).toBe('plain');
    const fn = vi.fn().mockImplementationOnce(throwing(new Error('sync')));
    expect(await outcomeAfter(retry(fn))).toEqual({ value: undefined });
    expect(fn).toHaveBeenCalledTimes(2);
  });

  it('async-utils EC-7: nested retries are independent of each other', async () => {
    const inner = vi.fn(throwing(new Error('busy')));
    const { error } = await outcomeAfter(retry(() => retry(inner, { retries: 1 }), { retries: 2 }));
    expect(inner).toHaveBeenCalledTimes(6);
    expect(error).toMatchObject({ attempts: 3, cause: { code: 'RETRY_EXHAUSTED' } });
  });
});

describe('back-off', () => {
  const delaysOf = async (options: Parameters<typeof retry>[1], error: unknown = new Error('busy')) => {
    const delays: number[] = [];
    const onRetry = ({ delayMs }: { delayMs: number }) => delays.push(delayMs);
    await outcomeAfter(retry(failing(99, error), { ...options, onRetry }));
    return delays;
  };

  it('async-utils FR-002: is exponential by default: 100, 200, 400 … at most 10 s', async () => {
    expect(await delaysOf({ retries: 9 })).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  it('async-utils FR-002: passes between the attempts', async () => {
    const fn = failing(1);
    const result = retry(fn);
    await vi.advanceTimersByTimeAsync(99);
    expect(fn).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toBe('done');
  });

  it('async-utils FR-003: linear is a constant second', async () => {
    expect(await delaysOf({ backoff: 'linear' })).toEqual([1000, 1000, 1000]);
  });

  it('async-utils FR-004: a function gets the number and the error of the failed attempt', async () => {
    const error = new Error('busy');
    const backoff = vi.fn((attempt: number) => attempt * 7);
    expect(await delaysOf({ backoff }, error)).toEqual([7, 14, 21]);
    expect(backoff.mock.calls).toEqual([1, 2, 3].map((attempt) => [attempt, error]));
  });

  it('an error that carries retryAfterMs wins over back-off and jitter', async () => {
    const asking = (retryAfterMs: number) => Object.assign(new Error('slow down'), { retryAfterMs });
    expect(await delaysOf({ jitter: 1 }, asking(333))).toEqual([333, 333, 333]);
    expect(await delaysOf({}, asking(Number.NaN))).toEqual([100, 200, 400]);
  });

  it('jitter takes away up to its share', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    expect(await delaysOf({ jitter: 0.5 })).toEqual([75, 150, 300]);
    vi.restoreAllMocks();
  });

  it('one that returns no duration fails the call, with the error of the attempt as cause', async () => {
    const cause = new Error('busy');
    for (const bad of [Number.NaN, -1, '5' as unknown as number]) {
      const { error } = await outcome(retry(failing(1, cause), { backoff: () => bad }));
      expect(error).toBeInstanceOf(RangeError);
      expect(error).toMatchObject({ cause });
    }
    expectNothingLeft();
  });

  it('one that throws fails the call, as does a filter that throws', async () => {
    const error = new Error('broken');
    expect(await outcome(retry(failing(1), { backoff: throwing(error) }))).toEqual({ error });
    expect(await outcome(retry(failing(1), { shouldRetry: throwing(error) }))).toEqual({ error });
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

  it('async-utils FR-005: may be async and change its mind', async () => {
    const fn = failing(9);
    const { error } = await outcomeAfter(retry(fn, { shouldRetry: async (_, attempt) => attempt < 3 }));
    expect(error).not.toBeInstanceOf(RetryError);
    expect(fn).toHaveBeenCalledTimes(3);
  });

  it('an AbortError is never retried, not even one of the platform', async () => {
    for (const error of [new AbortError(), new DOMException('stop', 'AbortError')]) {
      const fn = failing(9, error);
      expect((await outcome(retry(fn))).error).toBe(error);
      expect(fn).toHaveBeenCalledOnce();
    }
  });
});

describe('hooks', () => {
  it('async-utils FR-025, async-utils FR-026: hear of each retry with its delay, and of the end once', async () => {
    const hooks = { onRetry: vi.fn(), onSuccess: vi.fn(), onError: vi.fn() };
    const busy = new Error('busy');
    await outcomeAfter(retry(failing(2, busy), hooks));
    expect(hooks.onRetry.mock.calls).toEqual([
      [{ attempt: 1, error: busy, delayMs: 100 }],
      [{ attempt: 2, error: busy, delayMs: 200 }],
    ]);
    expect(hooks.onSuccess.mock.calls).toEqual([[{ attempts: 3, durationMs: 300 }]]);
    expect(hooks.onError).not.toHaveBeenCalled();
    const { error } = await outcomeAfter(retry(failing(9), { retries: 1, ...hooks }));
    expect(hooks.onError.mock.calls).toEqual([[{ error, attempts: 2, durationMs: 100 }]]);
    expect(hooks.onSuccess).toHaveBeenCalledOnce();
  });

  it('a hook that throws or rejects never changes the result', async () => {
    const throws = throwing(new Error('hook'));
    for (const hook of [throws, async () => throws()]) {
      const hooks = { onRetry: hook, onSuccess: hook, onError: hook };
      expect(await outcomeAfter(retry(failing(1), hooks))).toEqual({ value: 'done' });
      const { error } = await outcomeAfter(retry(failing(9), { retries: 1, ...hooks }));
      expect(error).toBeInstanceOf(RetryError);
    }
  });
});
