import { describe, expect, it } from 'vitest';
import { entryPoints, tsdocProblems } from '../check-tsdoc.mjs';
import { parseSource } from '../source-files.mjs';

const INDEX = 'packages/x/src/index.ts';
const problemsOf = (index: string, module: string): string[] =>
  tsdocProblems([parseSource(INDEX, index), parseSource('packages/x/src/a.ts', module)], [INDEX]);
const indexed = (names: string) => `/** The module. */\nexport { ${names} } from './a.js';`;

describe('public documentation', () => {
  it('looks at the exports of every published package', () => {
    expect(entryPoints()).toEqual(
      expect.arrayContaining(['packages/async-utils/src/index.ts', 'apps/server/src/index.ts']),
    );
  });

  it.each([
    ['/** Does. */\nexport function f() {}', 'f'],
    ['/** Does. */\nexport const f = (a: number) => a;', 'f'],
    ['/** Is. */\nexport interface T {}', 'type T'],
    ['/** Is. */\nexport class C { m(a: number) { return a; } }', 'C'],
    ['/** Is. */\nexport const VALUE = 1;', 'VALUE'],
  ])('passes %j', (module, names) => {
    expect(problemsOf(indexed(names), module)).toEqual([]);
  });

  it.each([
    ['no comment', 'export function f() {}', 'f', 'f has no doc comment'],
    ['a plain comment', '/* Does. */\nexport function f() {}', 'f', 'f has no doc comment'],
    [
      'a comment elsewhere',
      '/** Other. */\nconst x = 1;\nexport type T = typeof x;',
      'type T',
      'T has no doc comment',
    ],
    ['a missing export', '/** Is. */\nexport const a = 1;', 'b', 'exports no b'],
  ])('refuses %s', (_, module, names, message) => {
    const problems = problemsOf(indexed(names), module);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  it('refuses an index without a module comment, and export *', () => {
    const module = '/** Is. */\nexport const a = 1;';
    expect(problemsOf("export { a } from './a.js';", module)).toEqual([
      `${INDEX}: must open with a module comment`,
    ]);
    expect(problemsOf("/** The module. */\nexport * from './a.js';", module)).toEqual([
      `${INDEX}: names only, no export *`,
    ]);
  });
});
