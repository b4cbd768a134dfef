import { expect, it } from 'vitest';
import { traceIdOf } from '../src/index.js';

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
