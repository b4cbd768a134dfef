import { expect, it } from 'vitest';
import { ERRORS } from '../src/errors.js';
import {
  AbortError,
  isAbortError,
  isRetryError,
  isTimeoutError,
  RetryError,
  TimeoutError,
} from '../src/index.js';
import { throwing } from './leftovers.js';

const samples = [new RetryError([new Error('x')]), new TimeoutError(5), new AbortError()];

it('async-utils FR-021, async-utils FR-022, async-utils FR-023: errors have a name and the codes of the registry', () => {
  expect(samples).toMatchObject([
    { name: 'RetryError', code: 'RETRY_EXHAUSTED', attempts: 1 },
    { name: 'TimeoutError', code: 'TIMEOUT', ms: 5, message: 'Timed out after 5 ms' },
    { name: 'AbortError', code: 'ABORTED' },
  ]);
  expect(Object.keys(ERRORS.specs)).toEqual(samples.map(({ code }) => code));
});

it('guards recognise errors of another installed copy, and nothing else', () => {
  const copies = samples.map((error) => Object.assign(new Error(), { name: error.name, code: error.code }));
  const others = [undefined, null, 0, '', 'AbortError', {}, new Error('AbortError')];
  for (const [index, guard] of [isRetryError, isTimeoutError, isAbortError].entries()) {
    const recognised = [...samples, ...copies, ...others].filter(guard);
    expect(recognised).toEqual([samples[index], copies[index]]);
  }
  expect(isAbortError(new DOMException('stop', 'AbortError'))).toBe(true);
  expect(isTimeoutError(new DOMException('late', 'TimeoutError'))).toBe(false);
});

it('RetryError accepts values that cannot be printed', () => {
  const hostile = { toString: throwing(new Error('no')) };
  expect(new RetryError([hostile]).message).toBe('All 1 attempts failed; the last with: object');
  expect(new RetryError([Symbol('s')]).message).toContain('Symbol(s)');
  expect(new RetryError([Object.create(null)]).cause).toBeDefined();
});
