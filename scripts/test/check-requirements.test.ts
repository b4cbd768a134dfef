import { expect, it } from 'vitest';
import { coverage, requirementsDocument, testNames } from '../check-requirements.mjs';
import { parseSource } from '../source-files.mjs';

it('reads test names in all their forms', () => {
  const text = `
    it('plain', () => {});
    test.each([1])('each %s', () => {});
    describe.each(rows)('group', () => { it(\`template \${x} end\`, () => {}); });
    helper('not a test');
  `;
  const names = testNames(parseSource('packages/x/test/a.test.ts', text));
  expect(names).toEqual(['plain', 'each %s', 'group', 'template … end']);
});

it('counts an id only with its part and as a whole, and links to its tests', () => {
  const tests = ['mill FR-10: stops', 'mill FR-10: again', 'FR-1: no part', 'mill FR-1x'].map((name) => ({
    path: 'packages/mill/test/a.test.ts',
    name,
  }));
  const document = requirementsDocument(coverage({ mill: { 'FR-1': 'grinds', 'FR-10': 'stops' } }, tests));
  expect(document).toContain(
    '| FR-1 | grinds |  |\n| FR-10 | stops | [a.test.ts](../packages/mill/test/a.test.ts) |\n',
  );
});
