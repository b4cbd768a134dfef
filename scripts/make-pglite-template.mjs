import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { root, runOrExit } from './command.mjs';

const FOLDER = join(root, 'packages/postgres/template');

const fileOf = () => {
  const manifest = join(root, 'node_modules/@electric-sql/pglite/package.json');
  return join(FOLDER, `pglite-${JSON.parse(readFileSync(manifest, 'utf8')).version}.tar.br`);
};

/** The arguments of Node. Compiling the WebAssembly once instead of twice takes 2.6 s of CPU instead of 4.1. */
const PGLITE_TEMPLATE = ['--liftoff-only', import.meta.filename];

/** Packs an empty database of the installed PGlite if it is missing. `@millrace/postgres` contains it, so no user waits for initdb. */
export const makePgliteTemplate = () => runOrExit('node', PGLITE_TEMPLATE);

async function make() {
  const { PGlite } = await import('@electric-sql/pglite');
  const database = await PGlite.create();
  await database.exec('CHECKPOINT');
  const files = await database.dumpDataDir('none');
  await database.close();
  // The three databases of a cluster are nearly equal. A window of 16 MB uses that: 1.5 MB instead of 4.5 with gzip.
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
  const content = Buffer.from(await files.arrayBuffer());
  const params = {
    [BROTLI_PARAM_QUALITY]: 9,
    [BROTLI_PARAM_LGWIN]: 24,
    [BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  const packed = brotliCompressSync(content, { params });
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const unfinished = join(FOLDER, `.making-${process.pid}`);
  writeFileSync(unfinished, packed);
  renameSync(unfinished, fileOf());
}

if (import.meta.filename === process.argv[1] && !existsSync(fileOf())) await make();
