import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** The fields of the comment that opens a script, in order. */
const SCRIPT_FIELDS = ['purpose', 'guarantee', 'KEYS', 'ARGV', 'returns', 'cost'];

/** The fields of an included file. It has no keys and no reply of its own; it defines functions. */
const INCLUDE_FIELDS = ['purpose', 'guarantee', 'defines', 'cost'];

/** The part of a script that its header repeats. */
interface DeclaredScript {
  readonly declaration: {
    readonly name: string;
    readonly file: URL;
    readonly keys: readonly string[];
    readonly args: readonly string[];
    readonly returns: string;
  };
}

/**
 * Compares the header of a script's Lua file with its declaration, for tests. Returns one sentence per difference.
 *
 * A header is the comment that opens the file: `-- field: text`, with further lines of a field indented.
 */
export function compareHeader(script: DeclaredScript): string[] {
  const { name, file, keys, args, returns } = script.declaration;
  const problems = headerProblems(parseHeader(file), SCRIPT_FIELDS, {
    KEYS: keys.join(' ') || 'none',
    ARGV: args.join(' ') || 'none',
    returns,
  });
  if (basename(file.pathname, '.lua') !== name) problems.push(`the file must be called ${name}.lua`);
  return problems.map((problem) => `${basename(file.pathname)}: ${problem}`);
}

/**
 * Compares the Lua files of a folder with the scripts declared from it, for tests. Returns one sentence per difference in
 * a header, and per file that is neither declared nor an include. Does not read subfolders.
 */
export function compareFolder(folder: URL, scripts: Readonly<Record<string, DeclaredScript>>): string[] {
  const all = Object.values(scripts);
  const declared = new Set(all.map(({ declaration }) => declaration.file.href));
  const strays = readdirSync(folder)
    .filter((name) => name.endsWith('.lua') && !declared.has(new URL(name, folder).href))
    .flatMap((name) => {
      const header = parseHeader(new URL(name, folder));
      if (!header.has('defines')) return [`${name}: no declaration names this file`];
      return headerProblems(header, INCLUDE_FIELDS).map((problem) => `${name}: ${problem}`);
    });
  return [...all.flatMap(compareHeader), ...strays];
}

function parseHeader(file: URL): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let current: string | undefined;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (!line.startsWith('--')) break;
    const [, field, text = ''] = /^-- (\w+):\s*(.*)$/.exec(line) ?? [];
    if (field !== undefined) {
      current = field;
      fields.set(field, text.trim());
    } else if (current !== undefined) {
      fields.set(current, `${fields.get(current)} ${line.slice(2).trim()}`.trim());
    }
  }
  return fields;
}

function headerProblems(
  header: ReadonlyMap<string, string>,
  fields: readonly string[],
  declared: Readonly<Record<string, string>> = {},
): string[] {
  const problems: string[] = [];
  const found = [...header.keys()];
  if (found.join() !== fields.join()) {
    problems.push(`the header must have ${fields.join(', ')}, it has ${found.join(', ') || 'nothing'}`);
  }
  for (const field of fields) if (header.get(field) === '') problems.push(`the field ${field} is empty`);
  for (const [field, text] of Object.entries(declared)) {
    if (header.get(field) !== text) {
      problems.push(`${field} is declared as '${text}', the Lua file says '${header.get(field)}'`);
    }
  }
  return problems;
}
