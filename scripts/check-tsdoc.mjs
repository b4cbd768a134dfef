import { posix } from 'node:path';
import { manifestOf, published, SOURCE_CONDITION } from './pack-packages.mjs';
import { report, sourceFiles } from './source-files.mjs';

/** The source files behind the exports map of every published package. */
export const entryPoints = () =>
  published().flatMap((folder) =>
    Object.values(manifestOf(folder).exports)
      .flatMap((target) => target[SOURCE_CONDITION] ?? [])
      .map((target) => posix.join(folder, target)),
  );

/** Finds entry points without a module comment, and names that they export without a doc comment. */
export function tsdocProblems(files, entries) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return entries.flatMap((path) => {
    const entry = byPath.get(path);
    if (!entry) return [`${path}: is in an exports map and does not exist`];
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
