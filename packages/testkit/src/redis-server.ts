import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { withRedis } from './clients.js';
import { findBinary } from './machine.js';
import { createOwnedFolder } from './owned-folder.js';
import { HOST, PrivateServer } from './private-server.js';

interface RedisServerOptions {
  /** Arguments at the end of the command line, which override ours: `['--appendonly', 'yes']`. */
  readonly args?: readonly string[] | undefined;
}

/** A private Redis. */
export type RedisServer = PrivateServer;

const PROBE_TIMEOUT_MS = 500;

/**
 * Starts a Redis for this process on 127.0.0.1, which persists nothing by default, and waits until it answers a PING.
 * @throws Error with the command that installs Redis if it is missing, or with the server's output if it does not
 *   answer within 20 seconds.
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const file = findBinary('redis-server');
  const folder = createOwnedFolder();
  const dir = join(folder.path, 'data');
  mkdirSync(dir);
  const server = new PrivateServer({
    name: 'redis-server',
    folder,
    dir,
    stopSignal: 'SIGTERM',
    command: (port) => ({ file, args: redisArguments(port, dir, options.args) }),
    url: urlOf,
    probe: pingOwn,
  });
  await server.start();
  return server;
}

function redisArguments(port: number, dir: string, extra: readonly string[] = []): string[] {
  return ['--bind', HOST, '--port', `${port}`, '--dir', dir, '--save', '', '--appendonly', 'no', ...extra];
}

/** Compares the pid too: the PONG of another Redis on the port would look the same. */
async function pingOwn(port: number, pid: number): Promise<void> {
  const ask = async (redis: Redis) => {
    await redis.ping(); // Fails while Redis loads its data.
    const answeringPid = /process_id:(\d+)/.exec(await redis.info('server'))?.[1];
    if (answeringPid !== String(pid)) throw new Error(`another Redis answered, process ${answeringPid}`);
  };
  await withRedis(urlOf(port), ask, PROBE_TIMEOUT_MS);
}

const urlOf = (port: number) => `redis://${HOST}:${port}`;
