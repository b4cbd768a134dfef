import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { headerProblems, INCLUDE_FIELDS, parseHeader, SCRIPT_FIELDS } from './rules/script-header.js';
import type { ScriptDeclaration } from './script.js';

/**
 * Compares the header of a script's Lua file with its declaration; for tests.
 * @returns one sentence per difference; empty when both say the same.
 */
export function compareHeader(script: { readonly declaration: Omit<ScriptDeclaration, 'decode'> }): string[] {
  const { name, file, keys, args, returns } = script.declaration;
  const problems = headerProblems(parseHeader(readFileSync(file, 'utf8')), SCRIPT_FIELDS, {
    KEYS: keys.join(' ') || 'none',
    ARGV: args.join(' ') || 'none',
    returns,
  });
  if (basename(file.pathname, '.lua') !== name) problems.push(`the file must be called ${name}.lua`);
  return problems.map((problem) => `${basename(file.pathname)}: ${problem}`);
}

/**
 * Compares a folder of Lua files with the scripts declared from it, both ways; for tests.
 * @param folder - the folder; its subfolders hold includes of their own and are not looked at.
 * @returns one sentence per difference: in headers, and for files without a declaration that are no include either.
 */
export function compareFolder(
  folder: URL,
  scripts: Readonly<Record<string, { readonly declaration: Omit<ScriptDeclaration, 'decode'> }>>,
): string[] {
  const all = Object.values(scripts);
  const declared = new Set(all.map(({ declaration }) => declaration.file.href));
  const strays = readdirSync(folder)
    .filter((name) => name.endsWith('.lua') && !declared.has(new URL(name, folder).href))
    .flatMap((name) => {
      const header = parseHeader(readFileSync(new URL(name, folder), 'utf8'));
      if (!header.has('defines')) return [`${name}: no declaration names this file`];
      return headerProblems(header, INCLUDE_FIELDS).map((problem) => `${name}: ${problem}`);
    });
  return [...all.flatMap(compareHeader), ...strays];
}
