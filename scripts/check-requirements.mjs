import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './command.mjs';
import { filesBelow, parseSource, report, walk } from './source-files.mjs';

const DOCUMENT = 'docs/requirements.md';

/** The names of all tests in a parsed file: the texts given to `it`, `test` and `describe`. */
export function testNames(file) {
  const names = [];
  walk(file.program, (node) => {
    if (node.type !== 'CallExpression' || !/^(it|test|describe)$/.test(rootName(node.callee))) return;
    const [title] = node.arguments;
    if (title?.type === 'Literal' && typeof title.value === 'string') names.push(title.value);
    if (title?.type === 'TemplateLiteral')
      names.push(title.quasis.map(({ value }) => value.cooked).join('…'));
  });
  return names;
}

/** `it` of `it(…)`, `it.each(…)(…)`, `describe.each(…)(…)`. */
function rootName(callee) {
  if (callee.type === 'Identifier') return callee.name;
  return rootName(callee.object ?? callee.callee ?? callee.tag ?? { type: 'Identifier', name: '' });
}

/** Finds the tests of each id. Their names contain `part id`. */
export function coverage(parts, tests) {
  return Object.entries(parts).map(([part, ids]) => ({
    part,
    rows: Object.entries(ids).map(([id, title]) => ({
      id,
      title,
      tests: tests.filter(({ name }) => new RegExp(`\\b${part} ${id}(?![\\w-])`).test(name)),
    })),
  }));
}

/** Writes the document that lists the tests of each id. */
export function requirementsDocument(covered) {
  const lines = [
    '# Requirements and their tests',
    '',
    'The requirements of each part. The names of their tests contain the id. Written by `npm run docs`, checked by `npm test`.',
  ];
  for (const { part, rows } of covered) {
    lines.push('', `## ${part}`, '', '| id | requirement | tests |', '|---|---|---|');
    for (const { id, title, tests } of rows) {
      const places = [...new Set(tests.map(({ path }) => path))].map(
        (path) => `[${path.split('/').at(-1)}](../${path})`,
      );
      lines.push(`| ${id} | ${title} | ${places.join(', ')} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function allTests() {
  return ['packages', 'apps', 'bench', 'chaos', 'scripts', 'examples']
    .flatMap(filesBelow)
    .filter((path) => /\.test\.tsx?$/.test(path) || /\/test\/.*-suite\.ts$/.test(path))
    .flatMap((path) =>
      testNames(parseSource(path, readFileSync(join(root, path), 'utf8'))).map((name) => ({ path, name })),
    );
}

if (import.meta.filename === process.argv[1]) {
  const covered = coverage(
    JSON.parse(readFileSync(join(root, 'scripts/requirements.json'), 'utf8')),
    allTests(),
  );
  const document = requirementsDocument(covered);
  const path = join(root, DOCUMENT);
  if (process.argv.includes('--write')) writeFileSync(path, document);
  const current = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const untested = covered.flatMap(({ part, rows }) =>
    rows
      .filter(({ tests }) => tests.length === 0)
      .map(({ id }) => `${part} ${id} has no test with its id; name one '${part} ${id}: …'`),
  );
  const stale = current === document ? [] : [`${DOCUMENT} is out of date; run npm run docs`];
  report('requirements', [...untested, ...stale]);
}
