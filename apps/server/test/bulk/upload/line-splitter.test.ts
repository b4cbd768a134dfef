import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineFault, LineSplitter } from '../../../src/bulk/upload/line-splitter.js';

/** The lines of a body that comes in these pieces; a fault ends them. */
function split(pieces: readonly Buffer[], bytesMax: number): string[] {
  const splitter = new LineSplitter(bytesMax);
  const found: string[] = [];
  try {
    for (const piece of pieces) for (const line of splitter.feed(piece)) found.push(line.toString());
    const last = splitter.end();
    if (last) found.push(last.toString());
  } catch (error) {
    expect(error).toBeInstanceOf(LineFault);
    found.push('fault');
  }
  return found;
}

describe('LineSplitter', () => {
  it('finds the same lines whatever pieces a body comes in, and the first that is too long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '\r'), maxLength: 12 })),
        fc.array(fc.nat(9)),
        fc.boolean(),
        (texts, cuts, hasLastNewline) => {
          const body = Buffer.from(texts.join('\n') + (hasLastNewline ? '\n' : ''));
          const pieces: Buffer[] = [];
          let rest = body;
          for (const cut of cuts) {
            // Reused by whoever reads from the network: the splitter must not keep it.
            pieces.push(Buffer.from(rest.subarray(0, cut)));
            rest = rest.subarray(cut);
          }
          pieces.push(rest);
          const expected = body.toString().split('\n');
          if (expected.at(-1) === '') expected.pop();
          const tooLong = expected.findIndex((text) => Buffer.byteLength(text) > 8);
          const shown = tooLong < 0 ? expected : [...expected.slice(0, tooLong), 'fault'];
          expect(split(pieces, 8)).toEqual(shown);
        },
      ),
    );
  });

  it('refuses a line that never ends as soon as it is too long', () => {
    const splitter = new LineSplitter(1_000);
    const byte = Buffer.from('x');
    for (let n = 0; n < 1_000; n++) expect([...splitter.feed(byte)]).toEqual([]);
    expect(() => [...splitter.feed(byte)]).toThrow('more than 1000 bytes');
  });
});
