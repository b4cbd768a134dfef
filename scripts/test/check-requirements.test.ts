import { describe, expect, it } from 'vitest';
import { coverage, requirementProblems, requirementsDocument, testNames } from '../check-requirements.mjs';
import { parseSource } from '../source-files.mjs';

const namesIn = (text: string): string[] => testNames(parseSource('packages/x/test/a.test.ts', text));
const parts = { mill: { ids: { 'FR-1': 'grinds', 'FR-10': 'stops', 'FR-2': 'sieves' }, later: ['FR-2'] } };
const tests = (...names: string[]) => names.map((name) => ({ path: 'packages/mill/test/a.test.ts', name }));
const exists = () => true;

describe('requirements', () => {
  it('reads test names in all their forms', () => {
    expect(
      namesIn(`
        it('plain', () => {});
        test.each([1])('each %s', () => {});
        describe.each(rows)('group', () => { it(\`template \${x} end\`, () => {}); });
        helper('not a test');
      `),
    ).toEqual(['plain', 'each %s', 'group', 'template … end']);
  });

  it('an id counts only with its part and as a whole', () => {
    const covered = coverage(parts, tests('mill FR-10: stops', 'FR-1: no part', 'mill FR-1x'));
    const found = covered[0]?.rows.map(({ id, tests: carrying }) => [id, carrying.length]);
    expect(found).toEqual([
      ['FR-1', 0],
      ['FR-10', 1],
      ['FR-2', 0],
    ]);
  });

  it('fails for an id that is due and has no test, not for one put off or of a package that does not exist', () => {
    const covered = coverage(parts, tests('mill FR-10: stops'));
    expect(requirementProblems(covered, exists)).toEqual([
      "mill FR-1 has no test with its id; name one 'mill FR-1: …'",
    ]);
    expect(requirementProblems(covered, () => false)).toEqual([]);
  });

  it('fails for an id put off that has a test: the list only shrinks', () => {
    const covered = coverage(parts, tests('mill FR-1: a', 'mill FR-10: b', 'mill FR-2: c'));
    expect(requirementProblems(covered, exists)).toEqual(['mill FR-2 has a test; remove it from "later"']);
  });

  it('writes the document with a link to each test file', () => {
    const document = requirementsDocument(coverage(parts, tests('mill FR-1: a', 'mill FR-1: b')), exists);
    expect(document).toContain('| FR-1 | grinds | [a.test.ts](../packages/mill/test/a.test.ts) |');
    expect(document).toContain('| FR-2 | sieves | not due yet |');
  });
});
