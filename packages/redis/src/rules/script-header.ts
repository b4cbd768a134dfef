/** The fields of the comment that opens a Lua file, in their order. */
export const SCRIPT_FIELDS = ['purpose', 'guarantee', 'KEYS', 'ARGV', 'returns', 'cost'] as const;

/** The fields of an included file: it has no keys and no answer of its own, it defines functions. */
export const INCLUDE_FIELDS = ['purpose', 'guarantee', 'defines', 'cost'] as const;

/**
 * Reads the comment that opens a Lua file: `-- field: text`, further lines of a field indented.
 * @returns field → text, in the order of the file.
 */
export function parseHeader(source: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let current: string | undefined;
  for (const line of source.split('\n')) {
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

/**
 * Compares a header with the fields it must have and with what the TypeScript side declares.
 * @param fields - the names it must have, in this order.
 * @param declared - field → text that must be equal.
 * @returns one sentence per difference.
 */
export function headerProblems(
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
