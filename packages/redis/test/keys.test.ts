import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeId, keySpace } from '../src/index.js';

const HOSTILE = [
  '',
  ' ',
  '%',
  '%25',
  '{a}',
  '}{',
  'a:b',
  'tenant/id',
  'é 漢字 🦆',
  'line\nbreak\r\0',
  '\ud800',
  '\udfff',
  'a\udc00b',
  '\ufffd',
  '__proto__',
  '*?[]^',
  'x'.repeat(100_000),
];

/** The inverse of encodeId, which proves that no two ids have the same part. */
const decoded = (part: string) =>
  part === '%'
    ? ''
    : part
        .split(/(%u[0-9A-F]{4})/)
        .map((text) =>
          text.startsWith('%u')
            ? String.fromCharCode(Number(`0x${text.slice(2)}`))
            : decodeURIComponent(text),
        )
        .join('');

describe('encodeId', () => {
  it('keeps plain ids', () => {
    expect(encodeId('Order-17_b.c~d')).toBe('Order-17_b.c~d');
  });

  it.each(HOSTILE)('encodes %j without loss', (id) => {
    expect(encodeId(id)).toMatch(/^[A-Za-z0-9_.~%-]+$/);
    expect(decoded(encodeId(id))).toBe(id);
  });

  it('encodes any sequence of code units without loss', () => {
    const anyText = fc
      .array(fc.integer({ min: 0, max: 0xffff }))
      .map((units) => String.fromCharCode(...units));
    fc.assert(
      fc.property(anyText, (id) => {
        expect(encodeId(id)).toMatch(/^[A-Za-z0-9_.~%-]+$/);
        expect(decoded(encodeId(id))).toBe(id);
      }),
    );
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
