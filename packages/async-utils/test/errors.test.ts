import { describe, expect, it } from 'vitest';
import { ERRORS } from '../src/errors.js';
import {
  AbortError,
  isAbortError,
  isRetryError,
  isTimeoutError,
  RetryError,
  TimeoutError,
} from '../src/index.js';

const samples = [new RetryError([new Error('x')]), new TimeoutError(5), new AbortError()];

describe('errors', () => {
  it('async-utils FR-021: RetryError has its name and code', () => {
    expect(samples[0]).toMatchObject({ name: 'RetryError', code: 'RETRY_EXHAUSTED' });
  });

  it('async-utils FR-022: TimeoutError has its name, code and time', () => {
    expect(samples[1]).toMatchObject({
      name: 'TimeoutError',
      code: 'TIMEOUT',
      ms: 5,
      message: 'Timed out after 5 ms',
    });
  });

  it('async-utils FR-023: AbortError has its name and code', () => {
    expect(samples[2]).toMatchObject({ name: 'AbortError', code: 'ABORTED' });
  });

  it('the registry lists exactly the codes that the classes carry', () => {
    expect(Object.keys(ERRORS.specs).sort()).toEqual(samples.map((error) => error.code).sort());
  });

  it('guards know errors of another installed copy, and nothing else', () => {
    const copies = samples.map((error) => Object.assign(new Error(), { name: error.name, code: error.code }));
    const guards = [isRetryError, isTimeoutError, isAbortError];
    guards.forEach((guard, index) => {
      expect([...samples, ...copies].map(guard)).toEqual(
        [0, 1, 2, 0, 1, 2].map((position) => position === index),
      );
      for (const other of [undefined, null, 0, '', 'AbortError', {}, new Error('AbortError')])
        expect(guard(other)).toBe(false);
    });
    expect(isAbortError(new DOMException('stop', 'AbortError'))).toBe(true);
    expect(isTimeoutError(new DOMException('late', 'TimeoutError'))).toBe(false);
  });

  it('RetryError survives values that cannot be printed', () => {
    const hostile = {
      toString() {
        throw new Error('no');
      },
    };
    expect(new RetryError([hostile]).message).toBe('All 1 attempts failed; the last with: object');
    expect(new RetryError([Symbol('s')]).message).toContain('Symbol(s)');
    expect(new RetryError([Object.create(null)]).cause).toBeDefined();
  });
});
