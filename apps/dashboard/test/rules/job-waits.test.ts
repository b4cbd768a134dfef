import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { placeText, reasonText } from '../../src/rules/job-waits.js';

const STATES = new URL('../../../../packages/bulk-action/src/states.ts', import.meta.url);

/** The names of a constant as the engine has them: the page imports nothing of it. */
function engineNames(constant: string): readonly string[] {
  const text = readFileSync(STATES, 'utf8');
  const [, body = ''] = new RegExp(`export const ${constant} = \\{([^}]+)\\}`).exec(text) ?? [];
  return [...body.matchAll(/'(\w+)'/g)].map(([, name]) => name as string);
}

it('has words for every place and every reason of the engine', () => {
  const texts = [...engineNames('JobPlace').map(placeText), ...engineNames('NonReadyReason').map(reasonText)];
  expect(texts).toHaveLength(12);
  expect(new Set(texts).size).toBe(12);
  for (const text of texts) expect(text).toMatch(/^[A-Z][a-z]+( |$)/);
});

it('keeps the name of what nobody knows', () => {
  expect(reasonText(null)).toBeUndefined();
  expect(reasonText('MOON_PHASE')).toBe('Moon phase');
  expect(placeText('constructor')).toBe('constructor');
});
