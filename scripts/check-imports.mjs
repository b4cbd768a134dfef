import { readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './command.mjs';
import { isCore, isRule, LADDERS, LAYERS, LIBRARY_HOMES, OUTSIDE } from './import-rules.mjs';
import { cycles, ladderProblems } from './ladders.mjs';
import { filesBelow, report, sourceFiles, targetOf, walk } from './source-files.mjs';

const OURS = '@millrace/';

/** Names that read a clock, set a timer or draw a random number in an expression. */
const BANNED_NAMES = new Set([
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'randomUUID',
  'crypto',
]);
const BANNED_MEMBERS = new Set(['Date.now', 'Math.random', 'AbortSignal.timeout', 'process.hrtime']);
const TYPE_ONLY = /^TS(?!AsExpression|NonNullExpression|SatisfiesExpression|ParameterProperty)/;

/** Finds imports that point up, sideways or behind a facade, libraries outside their home, impure core code and cycles. */
export function importProblems(files, entries = publicEntries()) {
  const perFile = (file) => [...layerProblems(file), ...facadeProblems(file, entries), ...impurities(file)];
  return [...files.flatMap(perFile), ...fileCycles(files)];
}

/** The names that the exports maps of our packages allow to import. */
function publicEntries() {
  return new Set(
    ['packages', 'apps']
      .flatMap(filesBelow)
      .filter((path) => /^(packages|apps)\/[^/]+\/package\.json$/.test(path))
      .map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')))
      .flatMap(({ name, exports = {} }) => Object.keys(exports).map((subpath) => posix.join(name, subpath))),
  );
}

/** Also tests and tools import only what a package exports. */
function facadeProblems(file, entries) {
  const [own] = /^(packages|apps)\/[^/]+\//.exec(file.path) ?? [];
  return file.imports.flatMap(({ from, at }) => {
    const target = targetOf(file.path, from);
    const behind = /^(packages|apps)\/[^/]+\/src\//.test(target) && !(own && target.startsWith(own));
    const unknown = from.startsWith(OURS) && !entries.has(from);
    return behind || unknown
      ? [`${file.path}:${file.lineOf(at)}: ${from} is behind a facade; import what the package exports`]
      : [];
  });
}

function layerProblems(file) {
  const [, workspace, area = ''] = /^((?:packages|apps)\/[^/]+|[^/]+)\/([^/]+)/.exec(file.path) ?? [];
  if (area !== 'src' || OUTSIDE.includes(workspace)) return [];
  const layer = LAYERS[workspace];
  if (!layer) return [`${file.path}: ${workspace} has no layer; add it to scripts/import-rules.mjs`];
  const isIn = ([room]) => new RegExp(`^${workspace}/src/${room}(/|\\.ts$)`).test(file.path);
  const rooms = Object.entries(layer.rooms ?? {}).filter(isIn);
  const allowed = [...layer.may, ...rooms.flatMap(([, more]) => more)];
  const problems = [];
  for (const { from, at, isTypeOnly } of file.imports) {
    const where = `${file.path}:${file.lineOf(at)}`;
    const ours = from.startsWith(OURS) && from.slice(OURS.length).split('/')[0];
    if (ours && !allowed.includes(ours)) problems.push(`${where}: ${workspace} may not import ${from}`);
    if (layer.typesOnly?.test(from) && !isTypeOnly)
      problems.push(`${where}: ${workspace} may import types only from ${from}`);
    for (const { libraries, homes } of LIBRARY_HOMES) {
      if (libraries.test(from) && !homes.some((home) => home.test(file.path))) {
        problems.push(`${where}: ${from} does not belong here`);
      }
    }
    if (isRule(file.path) && (from.startsWith('node:') || (!from.startsWith('.') && ours !== 'foundation'))) {
      problems.push(`${where}: a rule is a pure function and may not import ${from}`);
    }
  }
  return problems;
}

function impurities(file) {
  if (!isCore(file.path) && !isRule(file.path)) return [];
  const problems = [];
  const refuse = (node, what) =>
    problems.push(`${file.path}:${file.lineOf(node.start)}: ${what} in core code; take it from Clock or Rng`);
  walk(file.program, (node, parent, key) => {
    if (TYPE_ONLY.test(node.type)) return false;
    if (node.type === 'NewExpression' && node.callee.name === 'Date' && node.arguments.length === 0) {
      refuse(node, 'new Date()');
    }
    if (node.type === 'MemberExpression' && !node.computed) {
      const name = `${node.object.name}.${node.property.name}`;
      const isGlobal = node.object.name === 'globalThis' && BANNED_NAMES.has(node.property.name);
      if (isGlobal || BANNED_MEMBERS.has(name)) refuse(node, name);
    }
    if (node.type !== 'Identifier') return undefined;
    const isKey = (key === 'key' || key === 'property') && !parent.computed;
    if (BANNED_NAMES.has(node.name) && !isKey) refuse(node, node.name);
    if (node.name === 'Date' && parent?.type === 'CallExpression' && key === 'callee') refuse(node, 'Date()');
    return undefined;
  });
  return problems;
}

function fileCycles(files) {
  const paths = new Set(files.map(({ path }) => path));
  const graph = new Map(
    files.map(({ path, imports }) => [path, imports.map(({ from }) => targetOf(path, from, paths))]),
  );
  return cycles(graph).map((cycle) => `cycle: ${cycle}`);
}

if (import.meta.filename === process.argv[1]) {
  const files = sourceFiles();
  const debtFile = join(root, 'scripts/ladder-debt.json');
  const debt = JSON.parse(readFileSync(debtFile, 'utf8'));
  const { problems, lowered } = ladderProblems(
    files.filter(({ path }) => /\/src\//.test(path)),
    LADDERS,
    debt,
  );
  if (process.argv.includes('--write')) writeFileSync(debtFile, `${JSON.stringify(lowered, null, 2)}\n`);
  report('imports', [...importProblems(files), ...problems]);
}
