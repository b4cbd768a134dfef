import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeId, keySpace } from '../src/index.js';

/** Any code units, and many of those that an encoding or a Redis key gives a meaning. */
const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
const anyId = fc
  .array(fc.oneof(codeUnit, fc.constantFrom(...'%{}:/*u4a \0é🦆\ufffd\ud800\udc00')))
  .map((parts) => parts.join(''));

/** The inverse of encodeId, which proves that no two ids have the same part. */
const decoded = (part: string) =>
  part.replace(/^%$|%u([0-9A-F]{4})|((?:%[0-9A-F]{2})+)/g, (_, surrogate?: string, bytes = '') =>
    surrogate ? String.fromCharCode(Number.parseInt(surrogate, 16)) : decodeURIComponent(bytes),
  );

describe('encodeId', () => {
  it('keeps plain ids', () => {
    expect(encodeId('Order-17_b.c~d')).toBe('Order-17_b.c~d');
  });

  it('encodes any id without loss', () => {
    const isLossless = (id: string) => {
      expect(encodeId(id)).toMatch(/^[A-Za-z0-9_.~%-]+$/);
      expect(decoded(encodeId(id))).toBe(id);
    };
    for (const id of ['', 'x'.repeat(100_000)]) isLossless(id);
    fc.assert(fc.property(anyId, isLossless), { numRuns: 1_000 });
  });
});

describe('keySpace', () => {
  it('puts all keys under one hash tag, even if a name has braces', () => {
    const key = keySpace('millrace', 'queue', 'a}{:b');
    expect(key.tag).toBe('{millrace:queue:a%7D%7B%3Ab}');
    expect(key('items')).toBe('{millrace:queue:a%7D%7B%3Ab}:items');
    expect(key('client', '{x}')).toBe('{millrace:queue:a%7D%7B%3Ab}:client:%7Bx%7D');
  });
});
