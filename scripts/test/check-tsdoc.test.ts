import { expect, it } from 'vitest';
import { entryPoints, tsdocProblems } from '../check-tsdoc.mjs';
import { parseSource } from '../source-files.mjs';

const INDEX = 'packages/x/src/index.ts';
const problemsOf = (module: string, index = "/** The module. */\nexport { a } from './a.js';"): string[] =>
  tsdocProblems([parseSource(INDEX, index), parseSource('packages/x/src/a.ts', module)], [INDEX]);

it('checks the exports of every published package', () => {
  const some = ['packages/async-utils/src/index.ts', 'apps/server/src/index.ts'];
  expect(entryPoints()).toEqual(expect.arrayContaining(some));
});

it.each(['function a() {}', 'const a = 1;', 'interface a {}', 'class a {}'])(
  'requires a doc comment of %s',
  (declaration) => {
    expect(problemsOf(`/** Does. */\nexport ${declaration}`)).toEqual([]);
    for (const comment of ['', '/* Does. */', '/** Other. */\nconst x = 1;'])
      expect(problemsOf(`${comment}\nexport ${declaration}`)).toEqual([
        expect.stringContaining('a has no doc comment'),
      ]);
  },
);

it.each([
  ['a name that does not exist', "/** The module. */\nexport { b } from './a.js';", 'exports no b'],
  ['an index without a module comment', "export { a } from './a.js';", 'must open with a module comment'],
  ['export *', "/** The module. */\nexport * from './a.js';", 'names only, no export *'],
])('refuses %s', (_, index, problem) => {
  expect(problemsOf('/** Is. */\nexport const a = 1;', index)).toEqual([expect.stringContaining(problem)]);
});
