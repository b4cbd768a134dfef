import { findServerBinaries, type ServerBinaries } from '../server-binaries.mjs';

const KEYS = {
  'redis-server': 'redisServer',
  postgres: 'postgres',
  initdb: 'initdb',
  chromium: 'chromium',
} as const;

/** The programs of the system that tests start. */
export type ServerBinaryName = keyof typeof KEYS;

/**
 * Finds one of these programs on this machine.
 * @param found - an earlier search, so that one start does not search twice.
 * @returns its full path.
 * @throws Error that names the command to install it when it is nowhere.
 */
export function findBinary(name: ServerBinaryName, found: ServerBinaries = findServerBinaries()): string {
  const path = found[KEYS[name]];
  if (path !== undefined) return path;
  const debianPackage = found.missing.find((entry) => entry.name === name)?.debianPackage ?? name;
  throw new Error(
    `expected ${name} on PATH or in the usual places, found none: install it with \`apt-get install ${debianPackage}\``,
  );
}
