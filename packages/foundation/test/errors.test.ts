import { describe, expect, it } from 'vitest';
import {
  defineErrors,
  ERRORS,
  MillraceError,
  NonRetryableError,
  RateLimitedError,
  toWorkError,
} from '../src/index.js';

const registry = defineErrors('shop', {
  SOLD_OUT: { message: '{item} is sold out: {left} of {wanted} left', status: 409, retryable: false },
  CLOSED: { message: 'The shop is closed; come back tomorrow', status: 503, retryable: true },
});

describe('defineErrors', () => {
  it('fills the message from the details and keeps them, the cause, and retryAfterMs', () => {
    const cause = new Error('db');
    const error = registry.create(
      'SOLD_OUT',
      { item: 'tea', left: 1, wanted: 2 },
      { cause, retryAfterMs: 5 },
    );
    expect(error).toBeInstanceOf(MillraceError);
    expect(error).toMatchObject({
      name: 'MillraceError',
      code: 'SOLD_OUT',
      message: 'tea is sold out: 1 of 2 left',
      status: 409,
      retryable: false,
      retryAfterMs: 5,
      details: { item: 'tea', left: 1, wanted: 2 },
      cause,
    });
    expect('cause' in registry.create('CLOSED', {})).toBe(false);
    expect('retryAfterMs' in registry.create('CLOSED', {})).toBe(false);
  });

  it('the compiler asks for each detail and knows each code', () => {
    // @ts-expect-error a detail is missing
    registry.create('SOLD_OUT', { item: 'tea', left: 1 });
    // @ts-expect-error there is no such code
    expect(() => registry.create('OPEN', {})).toThrow();
  });

  it('knows its errors by code, whichever copy made them', () => {
    expect(registry.is(registry.create('CLOSED', {}), 'CLOSED')).toBe(true);
    expect(registry.is({ code: 'CLOSED' }, 'CLOSED')).toBe(true);
    for (const other of [undefined, null, 'CLOSED', new Error('CLOSED')])
      expect(registry.is(other, 'CLOSED')).toBe(false);
  });

  it('a detail cannot break or flood the message', () => {
    const hostile = {
      toJSON() {
        throw new Error('no');
      },
    };
    expect(
      registry.create('SOLD_OUT', { item: hostile, left: '{wanted}', wanted: 'x'.repeat(9999) }).message,
    ).toMatch(/^an unprintable object is sold out: \{wanted\} of x{200}… left$/);
  });
});

describe('what handlers may throw', () => {
  it('NonRetryableError is final', () => {
    const cause = new Error('404');
    expect(new NonRetryableError('no such user', { cause })).toMatchObject({
      code: 'NON_RETRYABLE',
      message: 'no such user',
      retryable: false,
      cause,
    });
  });

  it('RateLimitedError carries the wait that was asked for', () => {
    expect(new RateLimitedError({ retryAfterMs: 1500 })).toMatchObject({
      code: 'RATE_LIMITED',
      status: 429,
      retryable: true,
      retryAfterMs: 1500,
    });
    expect('retryAfterMs' in new RateLimitedError()).toBe(false);
    expect(() => new RateLimitedError({ retryAfterMs: -1 })).toThrow(
      'retryAfterMs must be a number of milliseconds ≥ 0',
    );
  });
});

describe('toWorkError', () => {
  it('keeps what a Millrace error says', () => {
    const thrown = new RateLimitedError({ retryAfterMs: 7 });
    expect(toWorkError(thrown)).toEqual({
      code: 'RATE_LIMITED',
      message: thrown.message,
      retryable: true,
      retryAfterMs: 7,
      cause: thrown,
    });
    expect(toWorkError(new NonRetryableError('x')).retryable).toBe(false);
    expect(toWorkError(ERRORS.create('DEADLINE_EXCEEDED', { deadline: 'noon' })).code).toBe(
      'DEADLINE_EXCEEDED',
    );
  });

  it('makes a retryable failure of anything else', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    for (const [thrown, message] of [
      [new Error('plain'), 'plain'],
      ['text', 'The handler threw text'],
      [undefined, 'The handler threw undefined'],
      [null, 'The handler threw null'],
      [42n, 'The handler threw 42'],
      [circular, 'The handler threw an unprintable object'],
      [hostile, 'The handler threw '],
    ] as const) {
      const error = toWorkError(thrown);
      expect(error).toMatchObject({ code: 'HANDLER_FAILED', retryable: true });
      expect(error.message).toContain(message);
      expect(error.cause).toBe(thrown);
    }
    expect(toWorkError({ code: 'ECONNRESET', message: 'reset', retryAfterMs: 'soon' })).toMatchObject({
      code: 'ECONNRESET',
      message: 'reset',
    });
    expect(toWorkError(new Error('x'.repeat(99_999))).message).toHaveLength(2000);
  });

  it.each(['soon', -1, Number.NaN, Number.POSITIVE_INFINITY, 7n])(
    'takes no %s for a delay',
    (retryAfterMs) => {
      expect(toWorkError({ message: 'later', retryAfterMs })).not.toHaveProperty('retryAfterMs');
    },
  );
});
