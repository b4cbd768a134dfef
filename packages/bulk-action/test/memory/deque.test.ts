import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deque } from '../../src/memory/deque.js';

type Step = { readonly verb: 'push' | 'unshift' | 'shift'; readonly times: number };

const steps = fc.array(
  fc.record({
    verb: fc.constantFrom<Step['verb'][]>('push', 'push', 'unshift', 'shift', 'shift'),
    times: fc.integer({ min: 1, max: 20 }),
  }),
  { maxLength: 60, size: 'max' },
);

/** Does the same to both and answers what each gave. */
function apply(verb: Step['verb'], item: number, deque: Deque<number>, model: number[]): unknown[] {
  if (verb === 'shift') return [deque.shift(), model.shift()];
  deque[verb](item);
  model[verb](item);
  return [undefined, undefined];
}

describe('bulk-action BA-1: a lane has two ends', () => {
  it('bulk-action BA-1: whatever is put in and taken out, it holds what an array would', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const deque = new Deque<number>();
        const model: number[] = [];
        let next = 0;
        for (const { verb, times } of list) {
          for (let time = 0; time < times; time++) {
            const [ours, theirs] = apply(verb, next++, deque, model);
            expect(ours).toBe(theirs);
            expect(deque.size).toBe(model.length);
            expect(deque.peek()).toBe(model[0]);
          }
        }
        for (const [index, item] of model.entries()) expect(deque.indexOf(item)).toBe(index);
        expect(deque.indexOf(next)).toBe(-1);
        while (model.length > 0) expect(deque.shift()).toBe(model.shift());
        expect([deque.size, deque.peek(), deque.shift()]).toEqual([0, undefined, undefined]);
      }),
    );
  });

  it('bulk-action BA-1: it grows with its ends anywhere in the ring, and wraps around', () => {
    for (let head = 0; head < 8; head++) {
      const deque = new Deque<number>();
      const model: number[] = [];
      // Moves the head to every slot of a ring that is never empty, then makes it grow from there.
      for (let item = 0; item < 3 + head; item++) apply('push', item, deque, model);
      for (let turn = 0; turn < head; turn++) expect(deque.shift()).toBe(model.shift());
      for (let item = 100; item < 120; item++) apply(item % 3 === 0 ? 'unshift' : 'push', item, deque, model);
      while (model.length > 0) expect(deque.shift()).toBe(model.shift());
    }
  });

  it('bulk-action BA-1: an item that was taken is not looked up, although its slot may still be there', () => {
    const deque = new Deque<string>();
    for (const item of ['a', 'b', 'c']) deque.push(item);
    deque.shift();
    expect(deque.indexOf('a')).toBe(-1);
    expect(deque.indexOf('c')).toBe(1);
    expect(deque.filter((item) => item !== 'b')).toEqual(['c']);
  });
});
