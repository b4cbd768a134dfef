import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './command.mjs';
import { report, sourceFiles } from './source-files.mjs';

/** The source files behind the exports map of every published package. */
export function entryPoints() {
  const folders = ['packages', 'apps'].flatMap((place) =>
    readdirSync(join(root, place)).map((name) => posix.join(place, name)),
  );
  return folders.flatMap((folder) => {
    const path = join(root, folder, 'package.json');
    if (!existsSync(path)) return [];
    const manifest = JSON.parse(readFileSync(path, 'utf8'));
    if (manifest.private) return [];
    return Object.values(manifest.exports)
      .map((target) => target['@millrace/source'])
      .filter(Boolean)
      .map((target) => posix.join(folder, target));
  });
}

/** Public exports without a doc comment, parameters without a word, index files without a module comment. */
export function tsdocProblems(files, entries) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return entries.flatMap((path) => {
    const entry = byPath.get(path);
    if (!entry) return [`${path}: named in an exports map, but there is no such file`];
    const problems = [];
    const first = entry.comments[0];
    if (!(first?.value.startsWith('*') && entry.text.slice(0, first.start).trim() === '')) {
      problems.push(`${path}: must open with a module comment`);
    }
    for (const statement of entry.program.body) {
      if (statement.type === 'ExportAllDeclaration') problems.push(`${path}: names only, no export *`);
      if (statement.type !== 'ExportNamedDeclaration' || !statement.source) continue;
      const target = posix.join(posix.dirname(path), statement.source.value).replace(/\.js$/, '.ts');
      for (const { local } of statement.specifiers)
        problems.push(...undocumented(byPath.get(target), target, local.name));
    }
    return problems;
  });
}

/** The page exports nothing to users, but its parts to each other: every one says what it is. */
export function pageProblems(files) {
  const own = files.filter(({ path }) => /^apps\/dashboard\/src\//.test(path));
  return own.flatMap((file) =>
    file.program.body
      .filter(({ type }) => type === 'ExportNamedDeclaration')
      .flatMap(({ declaration }) => declaredNames(declaration))
      .flatMap((name) => undocumented(file, file.path, name)),
  );
}

/** What a component takes is the type of its one parameter, which says it already. */
const isComponent = (path, name) => path.endsWith('.tsx') && /^[A-Z]/.test(name);

function undocumented(file, path, name) {
  const statement = file?.program.body.find(({ declaration }) => declaredNames(declaration).includes(name));
  if (!statement) return [`${path}: exports no ${name}`];
  const where = `${path}:${file.lineOf(statement.start)}: ${name}`;
  // An overloaded function is documented at its first signature.
  const doc = file.comments.find(
    ({ value, end }) => value.startsWith('*') && file.text.slice(end, statement.start).trim() === '',
  );
  if (!doc) return [`${where} has no doc comment`];
  const declaration = statement.declaration;
  const fn = declaration.type === 'VariableDeclaration' ? declaration.declarations[0].init : declaration;
  const parameters = /Function/.test(fn?.type ?? '') && !isComponent(path, name) ? (fn.params ?? []) : [];
  const described = doc.value.match(/@param /g)?.length ?? 0;
  return described < parameters.length
    ? [`${where}: ${parameters.length} parameters, ${described} described`]
    : [];
}

function declaredNames(declaration) {
  if (!declaration) return [];
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.map(({ id }) => id.name);
  return declaration.id ? [declaration.id.name] : [];
}

if (import.meta.filename === process.argv[1]) {
  const files = sourceFiles();
  report('public documentation', [...tsdocProblems(files, entryPoints()), ...pageProblems(files)]);
}
