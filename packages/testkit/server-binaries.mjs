// Finds the servers and the browser of the tests. Plain JavaScript beside src/: the root scripts read it before anything is
// installed or built, and src/ and dist/ both import it as `../server-binaries.mjs`.
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The Debian package of each program. */
export const DEBIAN_PACKAGES = {
  'redis-server': 'redis-server',
  postgres: 'postgresql',
  initdb: 'postgresql',
  curl: 'curl',
  chromium: 'chromium-headless-shell',
};
const VERSIONED_POSTGRES = '/usr/lib/postgresql';

/** The names of the browser in its packages. The first has no windows, which takes half of the CPU. */
const CHROMIUM_NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The folders to search: PATH first, because a developer's choice wins, then places outside PATH. */
function serverBinaryFolders() {
  return [
    ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
    '/usr/local/bin',
    '/usr/bin',
    ...postgresVersions().map((version) => join(VERSIONED_POSTGRES, version, 'bin')),
    '/opt/homebrew/bin',
  ];
}

/** Returns the path of each program, `undefined` for a missing one. The first folder wins. */
export function findServerBinaries(folders = serverBinaryFolders()) {
  const find = (names, all = folders) =>
    names.flatMap((name) => all.map((folder) => join(folder, name))).find(isExecutable);
  // initdb and postgres of two versions do not work together.
  const postgresFolder = folders.filter((folder) =>
    ['postgres', 'initdb'].every((name) => isExecutable(join(folder, name))),
  );
  return {
    'redis-server': find(['redis-server']),
    postgres: find(['postgres'], postgresFolder),
    initdb: find(['initdb'], postgresFolder),
    // The tests run the lines of the README.
    curl: find(['curl']),
    chromium: find(CHROMIUM_NAMES),
  };
}

function postgresVersions() {
  try {
    return readdirSync(VERSIONED_POSTGRES).sort((a, b) => Number(b) - Number(a));
  } catch {
    return [];
  }
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
