/*
 * Loaded by every process of a mutant's run before anything else (`--import`). What is read of the mutant's file is changed on the way in; nothing
 * on the disk is. The witness is a file that is told of every process that read it.
 */

import fs, { appendFileSync } from 'node:fs';
import { register, syncBuiltinESMExports } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fileRead, type Mutant, mutate } from './mutate.js';
import { MUTANTS } from './table.js';
import { MUTANT_NAME, MUTANT_WITNESS, witnessed } from './witness.js';

const ROOT = new URL('../../../', import.meta.url);

const mutant = MUTANTS.find(({ name }) => name === process.env[MUTANT_NAME]);
if (!mutant) throw new Error(`${MUTANT_NAME} names no mutant: ${process.env[MUTANT_NAME]}`);
const witness = process.env[MUTANT_WITNESS] ?? '';
const target = new URL(fileRead(mutant), ROOT);
if (target.href.endsWith('.js')) {
  register('./load.js', import.meta.url, { data: { mutant, target: target.href, witness } });
} else changeReads(mutant, fileURLToPath(target));

/** Lua and SQL are read as text. */
function changeReads(changed: Mutant, path: string): void {
  const read = fs.readFileSync;
  const readChanged = (...given: Parameters<typeof read>) => {
    const found = read(...given);
    if (pathOf(given[0]) !== path) return found;
    const text = witnessed(
      () => mutate(String(found), changed),
      (line) => appendFileSync(witness, line),
    );
    return typeof found === 'string' ? text : Buffer.from(text);
  };
  fs.readFileSync = readChanged as typeof read;
  syncBuiltinESMExports();
}

function pathOf(given: fs.PathOrFileDescriptor): string | undefined {
  if (typeof given === 'number') return undefined;
  return fileURLToPath(given instanceof URL ? given : pathToFileURL(String(given)));
}
