import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { formatScopedId, loggerOver, NO_TENANT, parseScopedId, traceIdOf } from '../src/index.js';

const part = fc.string().filter((text) => !text.includes('/'));

it('parseScopedId reads back what formatScopedId writes, and two tenants never share a stored id', () => {
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
])('parseScopedId rejects %j of tenant %j', (text, tenant, message) => {
  expect(() => parseScopedId(text, tenant)).toThrow(message);
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

it.each([
  ...[undefined, null, '', '-', TRACE, {}, 1, ['00'], Symbol('00')],
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  ` 00-${TRACE}-${SPAN}-0`,
  `00-${TRACE}-${SPAN}-01\n`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.slice(1)}g-${SPAN}-01`,
])('traceIdOf returns the trace id of a well-formed trace context, and undefined for %j', (given) => {
  expect(['00', 'cc'].map((version) => traceIdOf(`${version}-${TRACE}-${SPAN}-01`))).toEqual([TRACE, TRACE]);
  expect(traceIdOf(given as string)).toBeUndefined();
});

it('loggerOver writes each level as one object with the message and the fields of all its parents', () => {
  const sink = { debug: vi.fn(), log: vi.fn(), warn: vi.fn(), error: vi.fn() };
  expect(loggerOver(sink).isLevelEnabled).toBeUndefined();
  const log = loggerOver(sink, (level) => level !== 'debug');
  expect([log.isLevelEnabled?.('debug'), log.isLevelEnabled?.('info')]).toEqual([false, true]);
  const child = log.child({ part: 'mail', job: 1, try: 1 }).child({ job: 2, try: 2 });
  expect(child).toHaveProperty('isLevelEnabled', log.isLevelEnabled);
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    child[level]({ try: 3 }, 'Sent');
    const line = { message: 'Sent', part: 'mail', job: 2, try: 3 };
    expect(sink[level === 'info' ? 'log' : level].mock.calls).toEqual([[line]]);
  }
});
