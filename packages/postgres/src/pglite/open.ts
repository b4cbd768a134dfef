import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import type { PGlite } from '@electric-sql/pglite';
import { ERRORS } from '../errors.js';
import { decoderOf } from '../values.js';
import { OWNER_ONLY } from './lock.js';

/** Files of every finished data directory. `global/pg_control` is written last. */
const MARKS = ['PG_VERSION', join('global', 'pg_control')];

/** In the package's folder, next to `src` and `dist`. */
const TEMPLATES = new URL('../../template/', import.meta.url);

/**
 * PostgreSQL writes its 128 MB of buffers at every start and keeps them. With 32 MB an idle process takes 182 MB instead of 312, and opens a
 * database with 0.5 s of CPU instead of 0.7. Work on 136 MB of data is 5 % slower; work on less is not.
 */
const SETTINGS = ['-c', 'shared_buffers=32MB'];

const decompress = promisify(brotliDecompress);

/**
 * Opens PGlite so that it encodes and decodes values like the other driver.
 * @param directory - absolute; in memory unless given.
 * @param content - files of a new database; from PGlite's own initdb unless given.
 */
export async function openPglite(directory?: string, content?: Blob): Promise<PGlite> {
  const Driver = await loadPglite();
  const place = directory === undefined ? 'memory://' : `file://${directory}`;
  const startParams = [...Driver.defaultStartParams, ...SETTINGS];
  const pglite = await Driver.create(place, { startParams, ...(content && { loadDataDir: content }) });
  const asIs = (text: string) => text;
  // One rule for all types: PGlite's own depend on the types that existed when it was opened.
  pglite.parsers = byType(decoderOf);
  pglite.serializers = byType(() => asIs);
  return pglite;
}

/**
 * Creates a database and opens it.
 * @param directory - absolute and empty; in memory unless given.
 */
export async function newPglite(directory?: string): Promise<PGlite> {
  await loadPglite(); // Throws DRIVER_MISSING before the version of PGlite is read.
  return openPglite(directory, await emptyDatabase());
}

/**
 * Makes sure that a directory has a whole database. A new one is made beside it and renamed at the end, so that a crash leaves either none or a whole
 * one. Only the holder of the directory's lock may call it.
 * @param create - makes a database in the empty directory that it is given, and closes it.
 * @throws MillraceError `DATABASE_DIRECTORY_INVALID` for a directory with other files in it.
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
  const building = join(parent, `${unfinished}${randomBytes(6).toString('hex')}`);
  mkdirSync(building, { mode: OWNER_ONLY });
  try {
    await create(building);
    if (existsSync(directory)) rmdirSync(directory); // It is empty: `isWhole` has refused any other.
    renameSync(building, directory);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
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

/**
 * Unpacks an empty database, made by PGlite's own initdb when this package was built (`scripts/make-pglite-template.mjs`). Unpacking takes 1.2 s of
 * CPU, initdb 3.7.
 * @returns its files; undefined if there is none for the installed version of PGlite, which then runs initdb.
 */
export async function emptyDatabase(): Promise<Blob | undefined> {
  try {
    const packed = await readFile(new URL(`pglite-${await installedVersion()}.tar.br`, TEMPLATES));
    // 40 MB: the cast saves a copy.
    return new Blob([(await decompress(packed)) as Uint8Array<ArrayBuffer>]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads PGlite's manifest from disk: its exports map has no entry for it. */
async function installedVersion(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const manifest = await readFile(join(dirname(dirname(entry)), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

/** Loads PGlite at its first use: users of a server need not install it. */
async function loadPglite(): Promise<typeof PGlite> {
  try {
    return (await import('@electric-sql/pglite')).PGlite;
  } catch (cause) {
    throw ERRORS.create('DRIVER_MISSING', { library: '@electric-sql/pglite' }, { cause });
  }
}

function byType<T>(of: (type: number) => T): Record<string, T> {
  return new Proxy<Record<string, T>>({}, { get: (_, type) => of(Number(type)) });
}
