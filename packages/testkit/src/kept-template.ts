import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOwnedFolder } from './owned-folder.js';

/** The packages that are installed; what is kept beside them goes with them. */
export const MODULES = fileURLToPath(new URL('../../../node_modules/', import.meta.url));

const CACHE = join(MODULES, '.cache/millrace-testkit');

/**
 * A folder that takes long to make, is made once, and is copied from then on; see {@link copyFolder}.
 * @param make - makes it, in a folder that is there and empty, and gives its path.
 * @returns its path; nobody may change it.
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

/**
 * Copies a folder with its owners and rights.
 * @param to - is not there yet.
 */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-Rp', from, to], { stdio: 'pipe' });
}
