import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamBuffer } from '../../src/lanes/stream-buffer.js';
import type { StreamEvent } from '../../src/model.js';
import { brief } from './tools.js';

/** Everything from an offset on. */
function readAll(buffer: StreamBuffer, from: number): StreamEvent[] {
  const events: StreamEvent[] = [];
  for (let offset = from; ; ) {
    const step = buffer.read(offset);
    if (step === 'nothing yet' || step === 'over') return events;
    events.push(step.event);
    offset = step.next;
  }
}

const filled = (maxChunks: number, ...chunks: string[]) => {
  const buffer = new StreamBuffer(maxChunks);
  buffer.begin();
  for (const chunk of chunks) buffer.append(chunk);
  return buffer;
};

describe('runtime RT-6: stream buffer', () => {
  it('runtime RT-6: start has offset 0, tokens count from 1, the end has the next one; reading is inclusive', () => {
    const buffer = filled(0, 'a', 'b');
    expect(brief(readAll(buffer, 0))).toBe('0:start 1:a 2:b');
    expect(buffer.read(3)).toBe('nothing yet');
    buffer.end({ type: 'done' });
    buffer.end({ type: 'error', code: 'LATE', message: 'only the first end counts' });
    expect(brief(readAll(buffer, 0))).toBe('0:start 1:a 2:b 3:done');
    expect(brief(readAll(buffer, 2))).toBe('2:b 3:done');
    expect(brief(readAll(buffer, 3))).toBe('3:done');
    expect(buffer.read(4)).toBe('over');
  });

  it('runtime RT-6: nothing is readable before begin, not even start; an end begins', () => {
    const buffer = new StreamBuffer(2);
    expect(buffer.read(0)).toBe('nothing yet');
    buffer.end({ type: 'error', code: 'TASK_CANCELLED', message: '' });
    expect(brief(readAll(buffer, 0))).toBe('0:start 1!TASK_CANCELLED');
  });

  it('runtime RT-6: folded tokens come back as one snapshot of the whole text that carries the last offset', () => {
    const buffer = filled(2, 'a', 'b', 'c', 'd');
    expect(buffer.oldestOffset).toBe(3);
    expect(brief(readAll(buffer, 0))).toBe('0:start 4*:abcd');
    expect(brief(readAll(buffer, 2))).toBe('4*:abcd');
    expect(brief(readAll(buffer, 3))).toBe('3:c 4:d');
    buffer.end({ type: 'done' });
    expect(brief(readAll(buffer, 1))).toBe('4*:abcd 5:done');
  });

  it('runtime RT-6: whatever is appended and kept, every reader ends with the same text', () => {
    const chunk = fc.string({ minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.nat(5), fc.array(chunk, { maxLength: 20 }), fc.nat(25), (maxChunks, chunks, from) => {
        const buffer = filled(maxChunks, ...chunks);
        buffer.end({ type: 'done' });
        const text = chunks.join('');
        expect(buffer.text).toBe(text);
        expect(buffer.characters).toBe(text.length);
        // A client that has read the first events keeps what it has and resumes.
        let shown = chunks.slice(0, Math.max(0, from - 1)).join('');
        let expected = from;
        for (const event of readAll(buffer, from)) {
          if (event.type === 'token' && event.snapshot) {
            expect(event.offset).toBe(chunks.length);
            shown = event.text;
          } else {
            expect(event.offset).toBe(expected);
            if (event.type === 'token') shown += event.text;
          }
          expected = event.offset + 1;
        }
        expect(shown).toBe(text);
        expect(expected).toBe(Math.max(from, chunks.length + 2));
        if (maxChunks === 0 || chunks.length <= maxChunks) {
          expect(readAll(buffer, 0)).toHaveLength(chunks.length + 2);
        }
      }),
      { seed: 6, numRuns: 500 },
    );
  });
});
