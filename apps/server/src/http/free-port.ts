import { createServer } from 'node:net';
import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';

/** Where a server listens. */
type Place = Pick<ServerConfig, 'host' | 'port'>;

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'the port is in use. Does another server run there? Stop it, or choose another port (--port N, or PORT=N)',
  EACCES: 'this user may not use the port. Choose one above 1023 (--port N, or PORT=N)',
  EADDRNOTAVAIL: 'this machine does not have the address (--host, HOST)',
  ENOTFOUND: 'nobody knows this name (--host, HOST)',
};

/**
 * Refuses a place where a server could not listen now; what happens to it later is found when it listens.
 * @throws MillraceError `LISTEN_FAILED`.
 */
export async function requireFreePort({ host, port }: Place): Promise<void> {
  if (port === 0) return;
  // Who connects in this moment is cut off, and meets nobody who would keep it waiting.
  const probe = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen(port, host, resolve);
    });
    await new Promise((resolve) => probe.close(resolve));
  } catch (error) {
    throw listenError(error, { host, port });
  }
}

/** Why a server cannot listen, with what to do; any other error as it is. */
export function listenError(error: unknown, { host, port }: Place): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  const reason = REASONS[code];
  if (reason === undefined || (syscall !== 'listen' && syscall !== 'getaddrinfo')) return error;
  return ERRORS.create('LISTEN_FAILED', { host, port, reason }, { cause: error });
}

/** Whether a server could not listen because another does, which may pass. */
export const isPortInUse = (error: unknown): boolean =>
  ERRORS.is(error, 'LISTEN_FAILED') && (error.cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
