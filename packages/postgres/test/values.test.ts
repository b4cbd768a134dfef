import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { type ArrayTexts, formatArray, parseArray } from '../src/values.js';

const PIECES = ['a', '"', '\\', '{', '}', ',', ' ', 'NULL', '\n', 'ü', '😀', "'", '='];

function randomTexts(rng: Rng, depth: number): ArrayTexts {
  return Array.from({ length: rng.integer(0, 4) }, () => {
    if (depth > 0) return randomTexts(rng, depth - 1);
    if (rng.next() < 0.1) return null;
    return Array.from({ length: rng.integer(0, 5) }, () => PIECES[rng.integer(0, PIECES.length - 1)]).join(
      '',
    );
  });
}

describe('arrays as text', () => {
  it('whatever is written is read back the same, at any depth', () => {
    const rng = seededRng(42);
    for (let n = 0; n < 2_000; n++) {
      const texts = randomTexts(rng, n % 3);
      expect(parseArray(formatArray(texts), (text) => text)).toEqual(texts);
    }
  });

  it('reads what PostgreSQL leaves unquoted, and bounds', () => {
    expect(parseArray('{1,NULL,-2.5}', Number)).toEqual([1, null, -2.5]);
    expect(parseArray('[0:1]={t,f}', (text) => text === 't')).toEqual([true, false]);
  });

  it('text that is cut off ends, as something', () => {
    for (const text of ['', '{', '{"', '{"a\\', '{{1}', '{a,']) parseArray(text, (element) => element);
  });
});
