import fc from 'fast-check';
import { expect, it } from 'vitest';
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

it('traceIdOf returns the trace id of a well-formed trace context', () => {
  for (const context of [`00-${TRACE}-${SPAN}-01`, `cc-${TRACE}-${SPAN}-00`])
    expect(traceIdOf(context)).toBe(TRACE);
});

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
])('traceIdOf returns undefined for %j', (given) => {
  expect(traceIdOf(given as string)).toBeUndefined();
});

it('loggerOver writes each level as one object with the message and the fields of all its parents', () => {
  const written: [string, object][] = [];
  const note = (level: string) => (line: object) => void written.push([level, line]);
  const sink = { debug: note('debug'), log: note('log'), warn: note('warn'), error: note('error') };
  expect(loggerOver(sink).isLevelEnabled).toBeUndefined();
  const log = loggerOver(sink, (level) => level !== 'debug');
  expect([log.isLevelEnabled?.('debug'), log.isLevelEnabled?.('info')]).toEqual([false, true]);
  const child = log.child({ part: 'mail', job: 1 }).child({ job: 2 });
  expect(child).toHaveProperty('isLevelEnabled', log.isLevelEnabled);
  child.debug({ ms: 3 }, 'a');
  child.info({}, 'b');
  child.warn({ job: 4 }, 'c');
  child.error({}, 'd');
  expect(written).toEqual([
    ['debug', { message: 'a', part: 'mail', job: 2, ms: 3 }],
    ['log', { message: 'b', part: 'mail', job: 2 }],
    ['warn', { message: 'c', part: 'mail', job: 4 }],
    ['error', { message: 'd', part: 'mail', job: 2 }],
  ]);
});
