import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatScopedId, NO_TENANT, parseScopedId } from '../src/index.js';

const part = fc.string().filter((text) => !text.includes('/'));

it('reads back what it formats, and two tenants never share a stored id', () => {
  fc.assert(
    fc.property(part, part, part.filter(Boolean), (tenant, other, id) => {
      const stored = formatScopedId({ tenant, id });
      expect(parseScopedId(stored, 'someone else')).toEqual({ tenant, id });
      if (tenant !== other) expect(formatScopedId({ tenant: other, id })).not.toBe(stored);
    }),
  );
  expect(parseScopedId('welcome', 'acme')).toEqual({ tenant: 'acme', id: 'welcome' });
  expect(parseScopedId('/welcome', 'acme')).toEqual({ tenant: NO_TENANT, id: 'welcome' });
});

it.each([
  ['', 'acme', "id must be a text of at least one character without /, got ''"],
  ['acme/', '', "id must be a text of at least one character without /, got ''"],
  ['a/b/c', '', "id must be a text of at least one character without /, got 'b/c'"],
  ['x', 'a/b', "tenant must be a text without /, got 'a/b'"],
  ['x', 5 as never, "tenant must be a text without /, got '5'"],
])('rejects %j of tenant %j', (text, tenant, message) => {
  expect(() => parseScopedId(text, tenant)).toThrow(message);
});
