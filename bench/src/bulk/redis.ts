import { RedisConnection } from '@millrace/redis';
import { type RedisServer, startRedis } from '@millrace/testkit';

/** The private server of this run, one for all contenders; started by the first who asks. */
let running: Promise<{ readonly server: RedisServer; readonly admin: RedisConnection }> | undefined;
let version = '';

const open = async () => {
  const server = await startRedis();
  const admin = new RedisConnection({ url: server.url, connectionName: 'bench', callTimeoutMs: 30_000 });
  version = /redis_version:(\S+)/.exec(String(await admin.call('INFO', ['server'])))?.[1] ?? '';
  return { server, admin };
};

const ready = () => {
  running ??= open();
  return running;
};

/** Where the server listens. */
export const redisUrl = async (): Promise<string> => (await ready()).server.url;

/** The same, for clients that take no URL. */
export async function redisAddress(): Promise<{ readonly host: string; readonly port: number }> {
  const { host, port } = (await ready()).server;
  return { host, port };
}

/** An empty server: nobody pays for what another one left behind. */
export async function flushRedis(): Promise<void> {
  await (await ready()).admin.call('FLUSHALL', ['SYNC']);
}

/** Bytes of data and overhead that Redis has allocated. */
export async function usedMemory(): Promise<number> {
  const info = String(await (await ready()).admin.call('INFO', ['memory']));
  return Number(/used_memory:(\d+)/.exec(info)?.[1]);
}

/** How the server is set up, for the printed settings; the version is known once it has run. */
export const describeRedis = (apart = 'FLUSHALL before every sample'): string =>
  `Redis${version && ` ${version}`}: one private server for all, loopback TCP, appendonly no, save "" (nothing persisted), ${apart}`;

/** Ends the server if there is one. */
export async function stopRedis(): Promise<void> {
  const current = await running;
  running = undefined;
  await current?.admin.stop();
  await current?.server.stop();
}
