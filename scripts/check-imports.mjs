import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './command.mjs';
import { isCore, isRule, LAYERS, LIBRARY_HOMES, OUTSIDE } from './import-rules.mjs';
import { filesBelow, report, sourceFiles, walk } from './source-files.mjs';

const OURS = '@millrace/';

/** Names that read a clock, set a timer or draw at random, when they stand in an expression. */
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

/** Imports that point up, sideways or behind a facade, libraries outside their home, impure core code, cycles. */
export function importProblems(files, entries = publicEntries()) {
  const perFile = (file) => [...layerProblems(file), ...facadeProblems(file, entries), ...impurities(file)];
  return [...files.flatMap(perFile), ...cycles(files)];
}

/** Everything that the exports maps of our packages allow to import. */
function publicEntries() {
  return new Set(
    ['packages', 'apps']
      .flatMap(filesBelow)
      .filter((path) => /^(packages|apps)\/[^/]+\/package\.json$/.test(path))
      .map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')))
      .flatMap(({ name, exports = {} }) => Object.keys(exports).map((subpath) => posix.join(name, subpath))),
  );
}

/** A package is imported by what it exports, from tests and tools too. */
function facadeProblems(file, entries) {
  const [own] = /^(packages|apps)\/[^/]+\//.exec(file.path) ?? [];
  return file.imports.flatMap(({ from, at }) => {
    const target = from.startsWith('.') ? resolveRelative(file.path, from) : '';
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
  const room = /\/src\/([^/]+)\//.exec(file.path)?.[1];
  const allowed = [...layer.may, ...(layer.rooms?.[room] ?? [])];
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

const resolveRelative = (path, from) =>
  posix.normalize(posix.join(posix.dirname(path), from)).replace(/\.js$/, '.ts');

/** Every import cycle once, as the chain of files that closes it. */
function cycles(files) {
  const paths = new Set(files.map(({ path }) => path));
  const targets = new Map(
    files.map((file) => [
      file.path,
      file.imports
        .filter(({ from }) => from.startsWith('.'))
        .map(({ from }) => resolveRelative(file.path, from))
        // Components import each other by the names of what is built of them, too.
        .map((target) => (paths.has(`${target}x`) ? `${target}x` : target)),
    ]),
  );
  const found = new Map();
  const finished = new Set();
  const visit = (path, trail) => {
    if (finished.has(path) || !targets.has(path)) return;
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = trail.slice(start);
      found.set([...cycle].sort().join(), `cycle: ${[...cycle, path].join(' → ')}`);
      return;
    }
    for (const target of targets.get(path)) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return [...found.values()];
}

if (import.meta.filename === process.argv[1]) report('imports', importProblems(sourceFiles()));
