// Where the servers of the tests are found. Plain JavaScript beside src/ because the root scripts read it before
// anything is installed or built, and src/ and dist/ both reach it as `../server-binaries.mjs`.
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const VERSIONED_POSTGRES = '/usr/lib/postgresql';

/** One browser under the names that it is packaged by; first the one without windows, which takes half of the CPU. */
const CHROMIUM_NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** PATH first, so that a developer's own choice wins; then where packages put servers without touching PATH. */
export function serverBinaryFolders() {
  return [
    ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
    '/usr/local/bin',
    '/usr/bin',
    ...postgresVersions().map((version) => join(VERSIONED_POSTGRES, version, 'bin')),
    '/opt/homebrew/bin',
  ];
}

/** See server-binaries.d.mts. */
export function findServerBinaries(folders = serverBinaryFolders()) {
  const redisFolder = folders.find((folder) => isExecutable(join(folder, 'redis-server')));
  // initdb and postgres of two versions do not work together: both come from one folder.
  const postgresFolder = folders.find((folder) =>
    ['postgres', 'initdb'].every((name) => isExecutable(join(folder, name))),
  );
  const missing = [];
  if (!redisFolder) missing.push({ name: 'redis-server', debianPackage: 'redis-server' });
  if (!postgresFolder) {
    missing.push({ name: 'postgres', debianPackage: 'postgresql' });
    missing.push({ name: 'initdb', debianPackage: 'postgresql' });
  }
  // The lines of the README are run as they are written.
  if (!folders.some((folder) => isExecutable(join(folder, 'curl'))))
    missing.push({ name: 'curl', debianPackage: 'curl' });
  const chromium = CHROMIUM_NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(
    isExecutable,
  );
  if (!chromium) missing.push({ name: 'chromium', debianPackage: 'chromium-headless-shell' });
  return {
    redisServer: redisFolder && join(redisFolder, 'redis-server'),
    postgres: postgresFolder && join(postgresFolder, 'postgres'),
    initdb: postgresFolder && join(postgresFolder, 'initdb'),
    chromium,
    missing,
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
