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

/** Finds exported names without a doc comment, and index files without a module comment. Names that no exports map reaches need none. */
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

function undocumented(file, path, name) {
  const statement = file?.program.body.find(({ declaration }) => declaredNames(declaration).includes(name));
  if (!statement) return [`${path}: exports no ${name}`];
  const where = `${path}:${file.lineOf(statement.start)}: ${name}`;
  // An overloaded function is documented at its first signature.
  const doc = file.comments.find(
    ({ value, end }) => value.startsWith('*') && file.text.slice(end, statement.start).trim() === '',
  );
  return doc ? [] : [`${where} has no doc comment`];
}

function declaredNames(declaration) {
  if (!declaration) return [];
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.map(({ id }) => id.name);
  return declaration.id ? [declaration.id.name] : [];
}

if (import.meta.filename === process.argv[1]) {
  report('public documentation', tsdocProblems(sourceFiles(), entryPoints()));
}
