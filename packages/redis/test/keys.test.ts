import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeId, encodeId, keySpace } from '../src/index.js';

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

describe('encodeId', () => {
  it('leaves plain ids as they are', () => {
    expect(encodeId('Order-17_b.c~d')).toBe('Order-17_b.c~d');
  });

  it.each(HOSTILE)('carries %j and back', (id) => {
    expect(encodeId(id)).toMatch(/^[A-Za-z0-9_.~%-]+$/);
    expect(decodeId(encodeId(id))).toBe(id);
  });

  it('gives different ids different parts', () => {
    expect(new Set(HOSTILE.map(encodeId)).size).toBe(HOSTILE.length);
  });

  it('holds for any text, code unit by code unit', () => {
    const anyText = fc
      .array(fc.integer({ min: 0, max: 0xffff }))
      .map((units) => String.fromCharCode(...units));
    fc.assert(
      fc.property(anyText, (id) => {
        expect(encodeId(id)).toMatch(/^[A-Za-z0-9_.~%-]+$/);
        expect(decodeId(encodeId(id))).toBe(id);
      }),
    );
  });

  it.each(['', '%4', '%zz', '%41', '%c3%a9', 'a b', '%uD83D%uDC00', '{'])('decodeId refuses %j', (part) => {
    expect(() => decodeId(part)).toThrow(expect.objectContaining({ code: 'ID_INVALID' }));
  });
});

describe('keySpace', () => {
  it('puts all keys under one hash tag, whatever the names are', () => {
    const key = keySpace('millrace', 'queue', 'a}{:b');
    expect(key.tag).toBe('{millrace:queue:a%7D%7B%3Ab}');
    expect(key('items')).toBe('{millrace:queue:a%7D%7B%3Ab}:items');
    expect(key('client', '{x}')).toBe('{millrace:queue:a%7D%7B%3Ab}:client:%7Bx%7D');
  });
});
