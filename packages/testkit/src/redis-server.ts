import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findBinary } from './find-binary.js';
import { createOwnedFolder } from './owned-folder.js';
import { HOST, type PrivateServer, ServerLife } from './private-server.js';

/** How a private Redis differs from the default one. */
export interface RedisServerOptions {
  /** Appended to the command line, so they win: `['--appendonly', 'yes']`. */
  readonly args?: readonly string[] | undefined;
  /** A fixed port; a free one unless given. */
  readonly port?: number | undefined;
  /** A data folder of the caller's, kept after `stop`; a temporary one unless given. */
  readonly dir?: string | undefined;
}

/** A private Redis; see {@link PrivateServer} for its life cycle. */
export interface RedisServer extends PrivateServer {}

const PROBE_TIMEOUT_MS = 500;

/**
 * Starts a Redis for this process alone: own port on 127.0.0.1, own folder, nothing persisted unless asked for.
 * @returns the server, which has answered a PING.
 * @throws Error with the command that installs Redis when there is none, or with the server's output when it does
 *   not answer within five seconds.
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const file = findBinary('redis-server');
  const folder = createOwnedFolder();
  const dir = options.dir ?? join(folder.path, 'data');
  mkdirSync(dir, { recursive: true });
  const server = new ServerLife({
    name: 'redis-server',
    folder,
    dir,
    port: options.port,
    stopSignal: 'SIGTERM',
    command: (port) => ({ file, args: redisArguments(port, dir, options.args) }),
    url: (port) => `redis://${HOST}:${port}`,
    probe: pingOwn,
  });
  await server.start();
  return server;
}

function redisArguments(port: number, dir: string, extra: readonly string[] = []): string[] {
  const listen = ['--bind', HOST, '--port', String(port)];
  return [...listen, '--dir', dir, '--save', '', '--appendonly', 'no', ...extra];
}

/** Asks for the pid as well: had somebody else's Redis taken the port, its PONG would look like ours. */
function pingOwn(port: number, pid: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST);
    let reply = '';
    socket.setEncoding('latin1');
    socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy(new Error('PING was not answered')));
    socket.on('connect', () => socket.write('PING\r\nINFO server\r\n'));
    socket.on('data', (chunk) => {
      reply += chunk;
      const answeringPid = /process_id:(\d+)\r\n/.exec(reply)?.[1];
      if (reply.startsWith('+PONG') && answeringPid === String(pid)) {
        resolve();
        socket.destroy();
      } else if (reply.startsWith('-') || answeringPid !== undefined) {
        socket.destroy(new Error(`another answer than expected: ${reply.slice(0, 100)}`));
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed before PING was answered')));
  });
}
