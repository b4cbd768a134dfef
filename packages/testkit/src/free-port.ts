import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range from which Linux (32768–60999) and macOS (49152–65535) take the ports of outgoing connections: a
// client that keeps trying to reach a stopped server could otherwise be given that very port, connect to itself and
// keep the server from coming back.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const TRIES = 100;

/**
 * Finds a TCP port of 127.0.0.1 that nobody listens on.
 * @returns the port; somebody may take it before the caller does.
 * @throws Error when a hundred ports in a row were taken.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`expected a free port between ${LOWEST} and ${HIGHEST}, found none in ${TRIES} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
