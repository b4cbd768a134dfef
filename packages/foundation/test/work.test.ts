import { describe, expect, it } from 'vitest';
import { traceIdOf } from '../src/index.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceIdOf', () => {
  it('gives the trace id of a well-formed trace context', () => {
    expect(traceIdOf(`00-${TRACE}-${SPAN}-01`)).toBe(TRACE);
    expect(traceIdOf(`cc-${TRACE}-${SPAN}-00`)).toBe(TRACE);
  });

  it.each([
    undefined,
    null,
    '',
    '-',
    TRACE,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    ` 00-${TRACE}-${SPAN}-0`,
    `00-${TRACE}-${SPAN}-01\n`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}g-${SPAN}-01`,
  ])('gives none for %j', (given) => {
    expect(traceIdOf(given)).toBeUndefined();
  });

  it('takes whatever it is given', () => {
    for (const given of [{}, 1, ['00'], Symbol('00')]) expect(traceIdOf(given as never)).toBeUndefined();
  });
});
