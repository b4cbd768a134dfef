import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** Beside `src` and `dist` alike. */
const TEMPLATES = new URL('../../template/', import.meta.url);

const decompress = promisify(brotliDecompress);

/**
 * A new, empty database as PGlite's own initdb makes it, packed when this package was (`scripts/make-pglite-template.mjs`): to unpack it takes 1.2 s
 * of CPU, to make another one 3.7.
 * @returns its files; undefined when there is none for the PGlite that is installed: initdb makes it then.
 */
export async function emptyDatabase(): Promise<Blob | undefined> {
  try {
    const packed = await readFile(new URL(`pglite-${await installedVersion()}.tar.br`, TEMPLATES));
    // 40 MB: not copied once more.
    return new Blob([(await decompress(packed)) as Uint8Array<ArrayBuffer>]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Its manifest is not among its exports. */
async function installedVersion(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const manifest = await readFile(join(dirname(dirname(entry)), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
