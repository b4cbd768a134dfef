// Plain Node: this is loaded before anything is installed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root, runOrExit, tool } from './command.mjs';

const DASHBOARD = 'apps/dashboard';
/** What the page is made of: its own files, the part of the contract that it bundles, and the libraries. */
const FOLDERS = [`${DASHBOARD}/src`, 'packages/contract/src'];
const FILES = [
  ...['index.html', 'vite.config.ts', 'package.json'].map((name) => `${DASHBOARD}/${name}`),
  'package-lock.json',
];
/** Where vite.config.ts puts it. */
const BUILT = join(root, 'apps/server/page/index.html');
/** What it was made of when it was last built; not beside it, where it would be shipped. */
const STAMP = join(root, DASHBOARD, '.built');

/** Says whether two builds would give the same page: the same text for the same inputs. */
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

/** Builds the page into the server, when anything that it is made of has changed. */
export async function buildPage() {
  const wanted = pageFingerprint(root);
  const isBuilt = existsSync(BUILT) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted;
  if (isBuilt) return;
  // First: a build that is broken off has already thrown the old page away.
  rmSync(STAMP, { force: true });
  // Whatever this shell is used for otherwise, nobody is served React's own debugging.
  const options = { cwd: join(root, DASHBOARD), env: { NODE_ENV: 'production' } };
  await runOrExit(tool('vite'), ['build', '--logLevel', 'warn'], options);
  writeFileSync(STAMP, wanted);
}

if (import.meta.filename === process.argv[1]) await buildPage();
