import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { parseSync } from 'oxc-parser';
import { root } from './command.mjs';

const SKIPPED = new Set(['node_modules', 'dist', 'coverage', '.git', '.results']);

/** Every file below a folder of the repository, as paths relative to the root with forward slashes. */
export function filesBelow(folder) {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = relative(root, join(start, entry.name)).replaceAll('\\', '/');
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Parses a source file. The syntax tree and the comments take most of the time and are read on demand. */
export function parseSource(path, text) {
  const parsed = parseSync(path, text);
  const { errors, module } = parsed;
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  const importOf = ({ start, end }, at, isTypeOnly = false) => ({
    from: text.slice(start + 1, end - 1),
    at,
    isTypeOnly,
  });
  const areTypes = (entries) => entries.length > 0 && entries.every(({ isType }) => isType);
  const imports = [
    ...module.staticImports.map((one) => importOf(one.moduleRequest, one.start, areTypes(one.entries))),
    ...module.staticExports.flatMap(({ start, entries }) =>
      entries.flatMap(({ moduleRequest, isType }) =>
        moduleRequest ? [importOf(moduleRequest, start, isType)] : [],
      ),
    ),
    // The name of some dynamic imports is computed.
    ...module.dynamicImports
      .filter(({ moduleRequest }) => /['"]/.test(text[moduleRequest.start]))
      .map(({ moduleRequest, start }) => importOf(moduleRequest, start)),
  ];
  return {
    path,
    text,
    imports,
    lineOf: (at) => text.slice(0, at).split('\n').length,
    get program() {
      return parsed.program;
    },
    get comments() {
      return parsed.comments;
    },
  };
}

/** The path of a relative import. Components too import each other as `.js`. */
export function targetOf(path, from, paths = new Set()) {
  if (!from.startsWith('.')) return '';
  const target = posix.normalize(posix.join(posix.dirname(path), from)).replace(/\.js$/, '.ts');
  return paths.has(`${target}x`) ? `${target}x` : target;
}

/** All TypeScript source files of the workspaces, read and parsed. */
export function sourceFiles() {
  return ['packages', 'apps', 'bench', 'chaos']
    .flatMap(filesBelow)
    .filter((path) => /\.(ts|tsx|mts)$/.test(path) && !/\.d\.m?ts$/.test(path))
    .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
}

/** Prints the problems, one per line, and sets the exit code to 1 if there are any. */
export function report(what, problems) {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`${what}: ok`);
}

/** Calls `visit(node, parent, key)` for every node of a syntax tree, parents first. */
export function walk(node, visit, parent = undefined, key = undefined) {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, visit, parent, key);
    return;
  }
  if (!node || typeof node.type !== 'string') return;
  if (visit(node, parent, key) === false) return;
  for (const [name, value] of Object.entries(node)) {
    if (value && typeof value === 'object' && name !== 'parent') walk(value, visit, node, name);
  }
}
