import { expect, it } from 'vitest';
import {
  defineErrors,
  MillraceError,
  NonRetryableError,
  RateLimitedError,
  toWorkError,
} from '../src/index.js';

const registry = defineErrors('shop', {
  SOLD_OUT: { message: '{item} is sold out: {left} of {wanted} left', status: 409, retryable: false },
  CLOSED: { message: 'The shop is closed; come back tomorrow', status: 503, retryable: true },
});

const fail = () => {
  throw new Error('no');
};
const hostile = new Proxy({}, { get: fail });

it('fills the message from the details and keeps them, the cause, and retryAfterMs', () => {
  const cause = new Error('db');
  const details = { item: 'tea', left: 1, wanted: 2 };
  const error = registry.create('SOLD_OUT', details, { cause, retryAfterMs: 5 });
  expect(error).toBeInstanceOf(MillraceError);
  const spec = { code: 'SOLD_OUT', status: 409, retryable: false };
  const message = 'tea is sold out: 1 of 2 left';
  expect(error).toMatchObject({ name: 'MillraceError', ...spec, message, retryAfterMs: 5, details, cause });
  const plain = registry.create('CLOSED', {});
  expect(['cause' in plain, 'retryAfterMs' in plain]).toEqual([false, false]);
  // @ts-expect-error a detail is missing
  registry.create('SOLD_OUT', { item: 'tea', left: 1 });
  // @ts-expect-error there is no such code
  expect(() => registry.create('OPEN', {})).toThrow();
});

it('recognises its errors by code, even those of another copy', () => {
  for (const error of [registry.create('CLOSED', {}), { code: 'CLOSED' }])
    expect(registry.is(error, 'CLOSED')).toBe(true);
  for (const other of [undefined, null, 'CLOSED', new Error('CLOSED'), hostile])
    expect(registry.is(other, 'CLOSED')).toBe(false);
});

it('formats hostile and long details safely', () => {
  const details = { item: hostile, left: '{wanted}', wanted: 'x'.repeat(9999) };
  const { message } = registry.create('SOLD_OUT', details);
  expect(message).toMatch(/^an unprintable object is sold out: \{wanted\} of x{200}… left$/);
});

it('toWorkError keeps what a Millrace error says', () => {
  const cause = new Error('404');
  const limited = new RateLimitedError({ retryAfterMs: 7 });
  const final = new NonRetryableError('no such user', { cause });
  expect([limited.status, final.cause]).toEqual([429, cause]);
  const { message } = limited;
  expect([limited, final].map(toWorkError)).toEqual([
    { code: 'RATE_LIMITED', message, retryable: true, retryAfterMs: 7, cause: limited },
    { code: 'NON_RETRYABLE', message: 'no such user', retryable: false, cause: final },
  ]);
  expect('retryAfterMs' in new RateLimitedError()).toBe(false);
  const expected = 'retryAfterMs must be a number of milliseconds ≥ 0';
  expect(() => new RateLimitedError({ retryAfterMs: -1 })).toThrow(expected);
});

const circular: Record<string, unknown> = {};
circular.self = circular;

type Row = [thrown: unknown, message: string, code?: string];
it.each<Row>([
  [new Error('plain'), 'plain'],
  ...['text', undefined, null, 42n].map((thrown): Row => [thrown, `The handler threw ${thrown}`]),
  [circular, 'The handler threw an unprintable object'],
  [hostile, 'The handler threw an unprintable object'],
  [{ code: 'ECONNRESET', message: 'reset' }, 'reset', 'ECONNRESET'],
  [new Error('x'.repeat(99_999)), 'x'.repeat(2_000)],
  ...['soon', -1, Number.NaN, Infinity, 7n].map((ms): Row => [{ message: 'm', retryAfterMs: ms }, 'm']),
])('toWorkError makes any other value retryable, %#', (thrown, message, code = 'HANDLER_FAILED') => {
  const { cause, ...error } = toWorkError(thrown);
  expect(error).toEqual({ code, message, retryable: true });
  expect(cause).toBe(thrown);
});
