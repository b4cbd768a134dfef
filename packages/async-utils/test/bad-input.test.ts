import { describe, expect, it, vi } from 'vitest';
import {
  exponentialBackoff,
  limitFunction,
  linearBackoff,
  pLimit,
  retry,
  timeout,
  wait,
  waitFor,
  waitUntil,
} from '../src/index.js';
import { expectNothingLeft, outcome, useFakeTime } from './leftovers.js';

useFakeTime();

const bad = (value: unknown) => value as never;
const fn = vi.fn();
const limit = pLimit(1);

type Call = [message: string, call: () => unknown];

const WRONG_TYPE: Call[] = [
  ['fn must be a function, got undefined', () => retry(bad(undefined))],
  ['options must be an object, got 3', () => retry(fn, bad(3))],
  ['options must be an object, got null', () => retry(fn, bad(null))],
  ['shouldRetry must be a function, got true', () => retry(fn, { shouldRetry: bad(true) })],
  ["fn must be a function, got 'x'", () => limit(bad('x'))],
  ['fn must be a function, got null', () => limit.run(bad(null))],
  ['signal must be an AbortSignal, got [object Object]', () => limit.run(fn, { signal: bad({}) })],
  ['iterable', () => limit.map(bad(7), fn)],
  ['fn must be a function, got 7', () => limit.map([1], bad(7))],
  ['fn must be a function, got undefined', () => limitFunction(bad(undefined), { concurrency: 1 })],
  ['rejectOnClear must be a boolean, got 1', () => pLimit({ concurrency: 1, rejectOnClear: bad(1) })],
  ['input must be a promise or a function, got undefined', () => timeout(bad(undefined), 5)],
  ['input must be a promise or a function, got 5', () => timeout(bad(5), 5)],
  ['options must be an object, got 5', () => wait(5, bad(5))],
  ['condition must be a function, got true', () => waitUntil(bad(true))],
  ['callback must be a function, got 0', () => waitFor(2, 5, bad(0))],
];

const OUT_OF_RANGE: Call[] = [
  ['retries must be an integer ≥ 0, got -1', () => retry(fn, { retries: -1 })],
  ['retries must be an integer ≥ 0, got 1.5', () => retry(fn, { retries: 1.5 })],
  ['retries must be an integer ≥ 0, got NaN', () => retry(fn, { retries: NaN })],
  ['retries must be an integer ≥ 0, got Infinity', () => retry(fn, { retries: Number.POSITIVE_INFINITY })],
  ["retries must be an integer ≥ 0, got '3'", () => retry(fn, { retries: bad('3') })],
  ['jitter must be a number from 0 to 1, got 2', () => retry(fn, { jitter: 2 })],
  ["or a function, got 'quadratic'", () => retry(fn, { backoff: bad('quadratic') })],
  ["or a function, got 'toString'", () => retry(fn, { backoff: bad('toString') })],
  ['baseMs must be a number of milliseconds ≥ 0, got -1', () => exponentialBackoff({ baseMs: -1 })],
  ['maxMs must be a number of milliseconds ≥ 0, got NaN', () => exponentialBackoff({ maxMs: NaN })],
  ['multiplier must be a finite number ≥ 1, got 0.5', () => exponentialBackoff({ multiplier: 0.5 })],
  ['multiplier must be', () => exponentialBackoff({ multiplier: Number.POSITIVE_INFINITY })],
  ['jitter must be a number from 0 to 1, got 1.1', () => exponentialBackoff({ jitter: 1.1 })],
  ['jitter must be a number from 0 to 1, got -0.1', () => exponentialBackoff({ jitter: -0.1 })],
  ['delayMs must be a number of milliseconds ≥ 0, got -1', () => linearBackoff({ delayMs: -1 })],
  ...[-1, 11, 1.5, NaN, '5', null].flatMap((priority): Call[] => [
    ['priority must be an integer from 0 to 10', () => limit.run(fn, { priority: bad(priority) })],
    ['priority must be an integer from 0', () => pLimit({ concurrency: 1, priority: bad(priority) })],
  ]),
  ['ms must be a number of milliseconds ≥ 0, got -1', () => timeout(fn, -1)],
  ['ms must be', () => timeout(fn, NaN)],
  ['ms must be', () => timeout(fn, bad({}))],
  ['ms must be', () => timeout(fn, bad(null))],
  ['ms must be', () => timeout(Promise.reject(new Error('not unhandled')), -1)],
  ...[-1, NaN, '5', undefined, null].map((ms): Call => ['ms must be', () => wait(bad(ms))]),
  ['intervalMs must be', () => waitUntil(fn, { intervalMs: -1 })],
  ['timeoutMs must be', () => waitUntil(fn, { timeoutMs: NaN })],
  ['count must be an integer ≥ 0, got -1', () => waitFor(-1, 5, fn)],
  ['ms must be', () => waitFor(2, NaN, fn)],
];

describe.each([
  ['TypeError', TypeError, WRONG_TYPE],
  ['RangeError', RangeError, OUT_OF_RANGE],
])('a %s says what is wrong and leaves nothing behind', (_, kind, calls) => {
  it.each(calls)('%s: %s', async (message, call) => {
    const { error } = await outcome(new Promise((resolve) => resolve(call())));
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toContain(message);
    expect(fn).not.toHaveBeenCalled();
    expect([limit.activeCount, limit.pendingCount]).toEqual([0, 0]);
    expectNothingLeft();
  });
});
