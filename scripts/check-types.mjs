import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { COMPILER, root, run, tool } from './command.mjs';
import { filesBelow } from './source-files.mjs';

// `tsc -b` checks the sources. This checks the tests against the built declarations: reading the sources again takes twice as long.
// The project in examples/ has no tests and its own options.
const configAt = (path) => JSON.parse(readFileSync(path, 'utf8'));
const built = configAt(join(root, 'tsconfig.json'))
  .references.map(({ path }) => ({ path: join(root, path) }))
  .filter(({ path }) => configAt(path).compilerOptions.outDir);
const isBuilt = (folder) => built.some(({ path }) => folder === join(dirname(path), 'src'));

const configs = ['packages', 'apps', 'bench', 'chaos', 'scripts', 'examples']
  .flatMap(filesBelow)
  .filter((path) => path.endsWith('/tsconfig.json') && path !== 'examples/campaign-app/tsconfig.json');

/** One program for all projects with the same options. One program for each takes five times as long. */
const groups = new Map();
for (const path of configs) {
  const { extends: base, include, exclude = [], ...rest } = configAt(path);
  // Makes no difference without decorators.
  const compilerOptions = { experimentalDecorators: true, ...rest.compilerOptions };
  const absolute = (places) => places.map((place) => resolve(root, dirname(path), place));
  const key = JSON.stringify(compilerOptions);
  const group = groups.get(key) ?? { compilerOptions, references: built, include: [], exclude: [] };
  group.extends = resolve(root, dirname(path), base);
  group.include.push(...absolute(include).filter((place) => !isBuilt(place)));
  group.exclude.push(...absolute(exclude));
  groups.set(key, group);
}

const folder = join(root, '.results', 'types');
mkdirSync(folder, { recursive: true });
const programs = [...groups.values()].map((group, index) => {
  const path = join(folder, `tsconfig-${index}.json`);
  writeFileSync(path, JSON.stringify(group, null, 2));
  return path;
});
const results = await Promise.all(
  programs.map((path) => run(tool('tsc'), ['--noEmit', '-p', path], { env: COMPILER })),
);
for (const { code, output } of results) {
  if (code === 0) continue;
  process.stderr.write(output);
  process.exitCode = 1;
}
if (!process.exitCode) console.log(`types: ${configs.length} projects ok`);
