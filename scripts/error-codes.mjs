import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './command.mjs';

export const ERROR_CODES = join(root, 'packages/contract/src/error-codes.generated.ts');

const HEAD = `// Written by \`npm run docs\` from the error registries of the packages; a test compares them.

/** The errors of all packages: HTTP status and message. \`{name}\` in a message stands for a value. */
export const ERROR_CODES = {
`;

/** Parts near the caller come first: if two packages share a code, the message of the first is shown. */
const ORDER = ['server', 'orchestrator', 'outbox', 'bulk-action', 'runtime'];

/**
 * Imports the error registry of every package that has one.
 * @param file - `dist/errors.js`, or `src/errors.ts` where TypeScript can be imported.
 * @returns {Promise<{ owner: string, specs: Record<string, { status: number, message: string, retryable: boolean }> }[]>}
 */
export async function readRegistries(file = 'dist/errors.js') {
  const paths = ['packages', 'apps'].flatMap((place) =>
    readdirSync(join(root, place)).map((name) => join(root, place, name, file)),
  );
  const modules = paths
    .filter((path) => existsSync(path))
    .map((path) => import(/* @vite-ignore */ pathToFileURL(path).href));
  return (await Promise.all(modules)).map(({ ERRORS }) => ERRORS);
}

/** Makes the file that the contract reads statuses and messages from. */
export function makeErrorCodes(registries) {
  const rank = ({ owner }) => ORDER.indexOf(owner) + 1 || ORDER.length + 1;
  const codes = new Map();
  for (const { specs } of registries.toSorted((a, b) => rank(a) - rank(b)))
    for (const [code, spec] of Object.entries(specs)) if (!codes.has(code)) codes.set(code, spec);
  const rows = [...codes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { status, message }]) => `  ${code}: ${JSON.stringify({ status, message })},\n`);
  return `${HEAD}${rows.join('')}} as const;\n`;
}

if (import.meta.filename === process.argv[1]) {
  writeFileSync(ERROR_CODES, makeErrorCodes(await readRegistries()));
}
