import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOwnedFolder } from './owned-folder.js';

/** Templates are removed together with the installed packages that made them. */
const MODULES = fileURLToPath(new URL('../../../node_modules/', import.meta.url));
const CACHE = join(MODULES, '.cache/millrace-testkit');

/**
 * Returns a folder that is made once per machine and then copied.
 * @param make - fills an empty folder and returns the path of the template in it.
 * @returns the path, which must not be changed; see {@link copyFolder}.
 */
export async function keptTemplate(name: string, make: (folder: string) => Promise<string>): Promise<string> {
  const template = join(CACHE, name);
  if (existsSync(template)) return template;
  mkdirSync(CACHE, { recursive: true });
  const folder = createOwnedFolder();
  const own = join(CACHE, `making-${process.pid}-${name}`);
  try {
    copyFolder(await make(folder.path), own);
    renameSync(own, template);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    if (!existsSync(template)) throw error; // Otherwise another process was faster, with the same result.
  } finally {
    folder.remove();
  }
  return template;
}

/** Copies a folder with its owners and rights. `to` must not exist. */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-Rp', from, to], { stdio: 'pipe' });
}

/** A data directory of PGlite for one test. */
export interface PgliteFolder extends Disposable {
  /** Holds a new, closed database. */
  readonly dataDir: string;
}

/**
 * Flags of Node for a short process that uses PGlite: Node compiles the WebAssembly once instead of twice. A new
 * database then takes 2.6 s of CPU instead of 5.2.
 */
export const SHORT_LIVED_PGLITE: readonly string[] = ['--liftoff-only'];

/**
 * Makes a new PGlite database in 0.2 s instead of 4, as a copy of a template. Disposing of it removes it.
 * @param create - makes a database in the directory and closes it.
 */
export async function pgliteFolder(create: (dataDir: string) => Promise<void>): Promise<PgliteFolder> {
  const manifest = readFileSync(join(MODULES, '@electric-sql/pglite/package.json'), 'utf8');
  const template = await keptTemplate(`pglite-${JSON.parse(manifest).version}`, async (folder) => {
    const made = join(folder, 'data');
    await create(made);
    return made;
  });
  const folder = createOwnedFolder();
  const dataDir = join(folder.path, 'data');
  copyFolder(template, dataDir);
  return { dataDir, [Symbol.dispose]: () => folder.remove() };
}
