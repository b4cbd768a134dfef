// Plain Node: this is loaded before anything is installed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root, runOrExit, tool } from './command.mjs';

const DASHBOARD = 'apps/dashboard';
/** The inputs of the page: its own files, the part of the contract that it bundles, and the libraries. */
const FOLDERS = [`${DASHBOARD}/src`, 'packages/contract/src'];
const FILES = [
  ...['index.html', 'vite.config.ts', 'package.json'].map((name) => `${DASHBOARD}/${name}`),
  'package-lock.json',
];
/** The output of vite.config.ts. */
const BUILT = join(root, 'apps/server/page/index.html');
/** The fingerprint of the last build. Beside the page it would be published. */
const STAMP = join(root, DASHBOARD, '.built');

/** Returns a text that changes with the inputs of the page. */
export function pageFingerprint(repository) {
  const filesIn = (folder) =>
    readdirSync(join(repository, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(repository, join(entry.parentPath, entry.name)));
  const hash = createHash('sha256');
  for (const path of [...FOLDERS.flatMap(filesIn), ...FILES].sort())
    hash.update(`${path}\0`).update(
      createHash('sha256')
        .update(readFileSync(join(repository, path)))
        .digest(),
    );
  return hash.digest('hex');
}

/** Builds the page into the server if an input has changed. */
export async function buildPage() {
  const wanted = pageFingerprint(root);
  const isBuilt = existsSync(BUILT) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted;
  if (isBuilt) return;
  // Removed first, because an interrupted build has already deleted the old page.
  rmSync(STAMP, { force: true });
  // A NODE_ENV of the shell must not publish React's development build.
  const options = { cwd: join(root, DASHBOARD), env: { NODE_ENV: 'production' } };
  await runOrExit(tool('vite'), ['build', '--logLevel', 'warn'], options);
  writeFileSync(STAMP, wanted);
}
