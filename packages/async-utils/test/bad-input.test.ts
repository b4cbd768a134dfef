import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limitFunction, pLimit, retry, timeout, wait, waitFor, waitUntil } from '../src/index.js';
import { expectNothingLeft, outcome } from './leftovers.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const bad = <T>(value: unknown) => value as T;
const fn = vi.fn();

const refused: [string, () => Promise<unknown>, typeof TypeError | typeof RangeError, string][] = [
  [
    'retry without a function',
    () => retry(bad(undefined)),
    TypeError,
    'fn must be a function, got undefined',
  ],
  ['retry with a number for options', () => retry(fn, bad(3)), TypeError, 'options must be an object, got 3'],
  ['retry with null options', () => retry(fn, bad(null)), TypeError, 'options must be an object, got null'],
  [
    'negative retries',
    () => retry(fn, { retries: -1 }),
    RangeError,
    'retries must be an integer ≥ 0, got -1',
  ],
  [
    'fractional retries',
    () => retry(fn, { retries: 1.5 }),
    RangeError,
    'retries must be an integer ≥ 0, got 1.5',
  ],
  ['NaN retries', () => retry(fn, { retries: Number.NaN }), RangeError, 'retries must be'],
  ['endless retries', () => retry(fn, { retries: Number.POSITIVE_INFINITY }), RangeError, 'retries must be'],
  [
    'retries as text',
    () => retry(fn, { retries: bad('3') }),
    RangeError,
    "retries must be an integer ≥ 0, got '3'",
  ],
  [
    'jitter above 1',
    () => retry(fn, { jitter: 2 }),
    RangeError,
    'jitter must be a number from 0 to 1, got 2',
  ],
  [
    'unknown back-off',
    () => retry(fn, { backoff: bad('quadratic') }),
    RangeError,
    "or a function, got 'quadratic'",
  ],
  [
    'no filter function',
    () => retry(fn, { shouldRetry: bad(true) }),
    TypeError,
    'shouldRetry must be a function',
  ],
  ['limit without a function', () => pLimit(1)(bad('x')), TypeError, "fn must be a function, got 'x'"],
  ['run without a function', () => pLimit(1).run(bad(null)), TypeError, 'fn must be a function, got null'],
  ['map over no iterable', () => pLimit(1).map(bad<number[]>(7), fn), TypeError, 'iterable'],
  ['map without a function', () => pLimit(1).map([1], bad(7)), TypeError, 'fn must be a function, got 7'],
  [
    'timeout of nothing',
    () => timeout(bad(undefined), 5),
    TypeError,
    'input must be a promise or a function',
  ],
  ['timeout of a value', () => timeout(bad(5), 5), TypeError, 'input must be a promise or a function, got 5'],
  ['negative timeout', () => timeout(fn, -1), RangeError, 'ms must be a number of milliseconds ≥ 0, got -1'],
  ['NaN timeout', () => timeout(fn, Number.NaN), RangeError, 'ms must be'],
  ['timeout without a time', () => timeout(fn, bad({})), RangeError, 'ms must be'],
  ['timeout with null', () => timeout(fn, bad(null)), RangeError, 'ms must be'],
  [
    'refused timeout of a failing promise',
    () => timeout(Promise.reject(new Error()), -1),
    RangeError,
    'ms must be',
  ],
  ['wait with a number for options', () => wait(5, bad(5)), TypeError, 'options must be an object'],
  ['waitUntil without a function', () => waitUntil(bad(true)), TypeError, 'condition must be a function'],
  ['negative interval', () => waitUntil(fn, { intervalMs: -1 }), RangeError, 'intervalMs must be'],
  ['NaN time limit', () => waitUntil(fn, { timeoutMs: Number.NaN }), RangeError, 'timeoutMs must be'],
  ['negative count', () => waitFor(-1, 5, fn), RangeError, 'count must be an integer ≥ 0, got -1'],
  ['NaN pause', () => waitFor(2, Number.NaN, fn), RangeError, 'ms must be'],
  [
    'waitFor without a function',
    () => waitFor(2, 5, bad(0)),
    TypeError,
    'callback must be a function, got 0',
  ],
];

describe('bad input gets a clear error and leaves nothing behind', () => {
  it.each(refused)('%s', async (_, call, kind, message) => {
    const { error } = await outcome(call());
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toContain(message);
    expect(fn).not.toHaveBeenCalled();
    expectNothingLeft();
  });

  it('limitFunction refuses at once what is no function', () => {
    expect(() => limitFunction(bad<() => void>(undefined), { concurrency: 1 })).toThrow(
      'fn must be a function, got undefined',
    );
  });

  it('a refused task takes no slot', async () => {
    const limit = pLimit(1);
    await outcome(limit(bad('x')));
    await outcome(limit.run(fn, { priority: 99 }));
    await outcome(limit.run(fn, { signal: bad({}) }));
    expect([limit.activeCount, limit.pendingCount]).toEqual([0, 0]);
    expect(await limit(() => 'works')).toBe('works');
  });
});
