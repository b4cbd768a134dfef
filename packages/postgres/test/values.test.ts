import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ArrayTexts, formatArray, parseArray } from '../src/values.js';

const unit = fc.constantFrom('a', '"', '\\', '{', '}', ',', ' ', 'NULL', '\n', 'ü', '😀', "'", '=');
const { array } = fc.letrec<{ array: ArrayTexts }>((tie) => ({
  array: fc.array(fc.oneof({ maxDepth: 3 }, fc.string({ unit }), fc.constant(null), tie('array'))),
}));

it('reads back any array that it has written, at any depth', () => {
  fc.assert(
    fc.property(array, (texts) => {
      expect(parseArray(formatArray(texts), (text) => text)).toEqual(texts);
    }),
    { numRuns: 1_000 },
  );
});
