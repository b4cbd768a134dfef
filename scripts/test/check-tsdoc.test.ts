import { expect, it } from 'vitest';
import { entryPoints, tsdocProblems } from '../check-tsdoc.mjs';
import { parseSource } from '../source-files.mjs';

const INDEX = 'packages/x/src/index.ts';
const EXPORT = "/** The module. */\nexport { a } from './a.js';";
const problemsOf = (module: string, index = EXPORT): string[] =>
  tsdocProblems([parseSource(INDEX, index), parseSource('packages/x/src/a.ts', module)], [INDEX]);

it('checks the exports of every published package', () => {
  const some = ['packages/async-utils/src/index.ts', 'apps/server/src/index.ts'];
  expect(entryPoints()).toEqual(expect.arrayContaining(some));
});

it.each(['function a() {}', 'const a = 1;', 'interface a {}', 'class a {}'])('requires a doc of %s', (a) => {
  expect(problemsOf(`/** Does. */\nexport ${a}`)).toEqual([]);
  for (const comment of ['', '/* Does. */', '/** Other. */\nconst x = 1;'])
    expect(problemsOf(`${comment}\nexport ${a}`)).toEqual([expect.stringContaining('a has no doc comment')]);
});

it.each([
  ['a name that does not exist', EXPORT.replace('a }', 'b }'), 'exports no b'],
  ['an index without a module comment', "export { a } from './a.js';", 'must open with a module comment'],
  ['export *', "/** The module. */\nexport * from './a.js';", 'names only, no export *'],
])('refuses %s', (_, index, problem) => {
  expect(problemsOf('/** Is. */\nexport const a = 1;', index)).toEqual([expect.stringContaining(problem)]);
});
