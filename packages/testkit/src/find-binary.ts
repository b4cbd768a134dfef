import { findServerBinaries, type ServerBinaries } from '../server-binaries.mjs';

const KEYS = {
  'redis-server': 'redisServer',
  postgres: 'postgres',
  initdb: 'initdb',
  chromium: 'chromium',
} as const;

/** A program of the system that tests start. */
export type ServerBinaryName = keyof typeof KEYS;

/**
 * Returns the full path of a program.
 * @param found - an earlier search, to search once for several programs.
 * @throws Error with the command that installs it if it is missing.
 */
export function findBinary(name: ServerBinaryName, found: ServerBinaries = findServerBinaries()): string {
  const path = found[KEYS[name]];
  if (path !== undefined) return path;
  const debianPackage = found.missing.find((entry) => entry.name === name)?.debianPackage ?? name;
  throw new Error(
    `${name} is neither on PATH nor in the usual places; install it with \`apt-get install ${debianPackage}\``,
  );
}
