import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ERRORS } from '../errors.js';

/** What every finished data directory has; `global/pg_control` is written last when one is made. */
const MARKS = ['PG_VERSION', join('global', 'pg_control')];

/** Everything that work carries is in there, and PGlite makes its files for everybody. */
export const OWNER_ONLY = 0o700;

/**
 * Makes sure that there is a whole database in a directory. A new one is made beside it and renamed when it is finished,
 * so that a crash leaves either none or a whole one. Only for the holder of the directory's lock.
 * @param create - makes a database in the directory it is given, which is empty, and closes it.
 * @throws MillraceError `DATABASE_DIRECTORY_INVALID` for a directory with anything else in it.
 */
export async function prepareDirectory(
  directory: string,
  create: (directory: string) => Promise<void>,
): Promise<void> {
  const parent = dirname(directory);
  const unfinished = `${basename(directory)}.creating-`;
  mkdirSync(parent, { recursive: true, mode: OWNER_ONLY });
  for (const name of readdirSync(parent)) {
    if (name.startsWith(unfinished)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  if (isWhole(directory)) return;
  const inTheMaking = join(parent, `${unfinished}${randomBytes(6).toString('hex')}`);
  mkdirSync(inTheMaking, { mode: OWNER_ONLY });
  try {
    await create(inTheMaking);
    if (existsSync(directory)) rmdirSync(directory); // Empty, or it would have been refused.
    renameSync(inTheMaking, directory);
  } catch (error) {
    rmSync(inTheMaking, { recursive: true, force: true });
    throw error;
  }
}

function isWhole(directory: string): boolean {
  if (!existsSync(directory)) return false;
  const refuse = (reason: string) => ERRORS.create('DATABASE_DIRECTORY_INVALID', { directory, reason });
  if (!statSync(directory).isDirectory()) throw refuse('it is a file');
  const missing = MARKS.filter((mark) => !existsSync(join(directory, mark)));
  if (missing.length === 0) return true;
  if (readdirSync(directory).length === 0) return false;
  throw refuse(`it has files in it but no whole database (${missing.join(', ')} missing); move it away`);
}
