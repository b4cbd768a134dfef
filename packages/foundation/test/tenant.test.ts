import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatScopedId, NO_TENANT, parseScopedId, silentLogger } from '../src/index.js';

const part = fc.string().filter((text) => !text.includes('/'));

describe('scoped ids', () => {
  it('formats and reads back, and two tenants never share a stored id', () => {
    fc.assert(
      fc.property(part, part, part.filter(Boolean), (tenant, other, id) => {
        const stored = formatScopedId({ tenant, id });
        expect(parseScopedId(stored, 'someone else')).toEqual({ tenant, id });
        if (tenant !== other) expect(formatScopedId({ tenant: other, id })).not.toBe(stored);
      }),
    );
  });

  it('a plain id means the caller’s own namespace', () => {
    expect(parseScopedId('welcome', 'acme')).toEqual({ tenant: 'acme', id: 'welcome' });
    expect(parseScopedId('/welcome', 'acme')).toEqual({ tenant: NO_TENANT, id: 'welcome' });
  });

  it.each([
    ['', 'acme', "id must be a text of at least one character without /, got ''"],
    ['acme/', '', "id must be a text of at least one character without /, got ''"],
    ['a/b/c', '', "id must be a text of at least one character without /, got 'b/c'"],
    ['x', 'a/b', "tenant must be a text without /, got 'a/b'"],
  ])('refuses %j for tenant %j', (text, tenant, message) => {
    expect(() => parseScopedId(text, tenant)).toThrow(message);
  });

  it('refuses what is no text', () => {
    expect(() => formatScopedId({ tenant: 5 as unknown as string, id: 'x' })).toThrow('tenant must be');
  });
});

it('silentLogger takes everything and says nothing', () => {
  const child = silentLogger.child({ job: 1 });
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    expect(child[level]({}, 'x')).toBeUndefined();
});
