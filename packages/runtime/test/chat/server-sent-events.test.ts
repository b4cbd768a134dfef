import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamDecoder, type ServerSentEvent } from '../../src/chat/server-sent-events.js';

const LIMITS = { lineCharactersMax: 1000, eventCharactersMax: 2000 };

/** Decodes a text cut at the given places of its bytes. */
function decode(text: string, cuts: readonly number[] = [], limits = LIMITS): ServerSentEvent[] {
  const decoder = new EventStreamDecoder(limits);
  const bytes = new TextEncoder().encode(text);
  const at = [0, ...[...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

const data = (text: string, cuts?: readonly number[]) => decode(text, cuts).map((event) => event.data);

describe('EventStreamDecoder', () => {
  it('reads fields as the HTML standard says', () => {
    expect(decode('data: one\n\ndata:two\n\n')).toEqual([
      { event: 'message', data: 'one' },
      { event: 'message', data: 'two' },
    ]);
    expect(decode('event: error\ndata: first\ndata:  second\n\n')).toEqual([
      { event: 'error', data: 'first\n second' },
    ]);
    expect(data(': a comment\nid: 5\nretry: 10\nunknown\n\ndata\n\n')).toEqual(['']);
    expect(data('\uFEFFdata: after a byte order mark\n\n')).toEqual(['after a byte order mark']);
    expect(decode('event: forgotten\n\ndata: x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('takes LF, CR and CRLF, mixed', () => {
    expect(data('data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\n')).toEqual(['a', 'b', 'c', 'd']);
  });

  it('gives out what stands at the end without a blank line', () => {
    expect(data('data: x\n\ndata: [DONE]')).toEqual(['x', '[DONE]']);
    expect(data('data: x\r')).toEqual(['x']);
  });

  it('gives the same events wherever the bytes are cut: inside characters, lines, CRLF', () => {
    const text = fc.stringMatching(/^[^\r\n]{0,8}$/u);
    const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
    const line = fc.oneof(
      text.map((value) => `data: ${value}`),
      text.map((value) => `: ${value}`),
      fc.constantFrom('', 'event: e', 'data', 'data: ü€😀'),
    );
    const stream = fc
      .array(fc.tuple(line, lineEnd), { maxLength: 12 })
      .map((lines) => lines.map((parts) => parts.join('')).join(''));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 12 }), (whole, cuts) => {
        const everyByte = Array.from({ length: 300 }, (_, index) => index);
        const expected = decode(whole);
        expect(decode(whole, cuts)).toEqual(expected);
        expect(decode(whole, everyByte)).toEqual(expected);
      }),
      { seed: 20, numRuns: 300 },
    );
  });

  it('refuses lines and events that are too long, complete or not', () => {
    const limits = { lineCharactersMax: 10, eventCharactersMax: 15 };
    expect(() => decode('data: 67890\n\n', [], limits)).toThrow('longer than 10 characters');
    expect(() => decode(`:${'x'.repeat(20)}`, [3, 6, 9], limits)).toThrow('longer than 10 characters');
    expect(() => decode('data: 7890\n'.repeat(4), [], limits)).toThrow('longer than 15 characters');
    expect(() => decode('data\n'.repeat(20), [], limits)).toThrow('longer than 15 characters');
    expect(decode('data: 7890\n\ndata: 7890\n\n', [], limits)).toHaveLength(2);
  });
});
