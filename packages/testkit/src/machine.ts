import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import {
  DEBIAN_PACKAGES,
  findServerBinaries,
  type ServerBinaries,
  type ServerBinaryName,
} from '../server-binaries.mjs';

export type { ServerBinaryName };

/**
 * Returns the full path of a program.
 * @param found - an earlier search, to search once for several programs.
 * @throws Error with the command that installs it if it is missing.
 */
export function findBinary(name: ServerBinaryName, found: ServerBinaries = findServerBinaries()): string {
  const path = found[name];
  if (path !== undefined) return path;
  throw new Error(
    `${name} is neither on PATH nor in the usual places; install it with \`apt-get install ${DEBIAN_PACKAGES[name]}\``,
  );
}

// Below the ports of outgoing connections on Linux (32768–60999) and macOS (49152–65535). A client that retries a stopped
// server could otherwise get the server's port, connect to itself and keep the server from restarting.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const ATTEMPTS_MAX = 100;

/**
 * Finds a free TCP port of 127.0.0.1. Another program may take it before the caller does.
 * @throws Error after a hundred ports that are taken.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`found no free port between ${LOWEST} and ${HIGHEST} in ${ATTEMPTS_MAX} attempts`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
