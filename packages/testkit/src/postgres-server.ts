import { execFileSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { findServerBinaries } from '../server-binaries.mjs';
import { withPostgres } from './clients.js';
import { findBinary } from './machine.js';
import { createOwnedFolder } from './owned-folder.js';
import { HOST, PrivateServer } from './private-server.js';
import { type Identity, spawnOwned } from './processes.js';
import { copyFolder, keptTemplate } from './templates.js';

interface PostgresServerOptions {
  /** Arguments at the end of the command line, which override ours: `['-c', 'log_statement=all']`. */
  readonly args?: readonly string[] | undefined;
  /** Whether commits wait for the disk (false). Without it a killed server still loses nothing. */
  readonly fsync?: boolean | undefined;
}

/** A private PostgreSQL. */
export class PostgresServer extends PrivateServer {
  /** Ends the server with SIGQUIT, like a crash. `restart` recovers the data. */
  async stopImmediate(): Promise<void> {
    await this.end('SIGQUIT');
  }
}

const PROBE_TIMEOUT_MS = 500;

/**
 * Starts a PostgreSQL for this process on 127.0.0.1 with its own cluster, no password and 200 connections, and waits
 * until it answers a query. PostgreSQL refuses to run as root, so root starts it as the user `postgres`.
 * @throws Error with the command that installs PostgreSQL if it is missing, or with its output if initdb fails or the
 *   server does not answer within 20 seconds.
 */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const binaries = findServerBinaries();
  const initdb = findBinary('initdb', binaries);
  const file = findBinary('postgres', binaries);
  const identity = unprivilegedIdentity();
  const folder = createOwnedFolder();
  const dir = join(folder.path, 'data');
  try {
    if (identity) chownSync(folder.path, identity.uid, identity.gid);
    copyFolder(await clusterTemplate(initdb, identity), dir);
  } catch (error) {
    folder.remove();
    throw error;
  }
  const server = new PostgresServer({
    name: 'postgres',
    folder,
    dir,
    identity,
    stopSignal: 'SIGINT',
    command: (port) => ({ file, args: postgresArguments(port, dir, folder.path, options) }),
    url: urlOf,
    probe: (port) => queryOwn(port, dir),
  });
  await server.start();
  return server;
}

function postgresArguments(
  port: number,
  dir: string,
  sockets: string,
  options: PostgresServerOptions,
): string[] {
  const settings = {
    listen_addresses: HOST,
    port,
    unix_socket_directories: sockets,
    max_connections: 200,
    fsync: options.fsync ? 'on' : 'off',
    // Files in the data folder are removed with it. In /dev/shm they would outlive a killed server.
    dynamic_shared_memory_type: 'mmap',
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  return ['-D', dir, ...flags, ...(options.args ?? [])];
}

/** A new cluster takes a second of CPU, a copy a tenth of that. */
function clusterTemplate(file: string, identity?: Identity): Promise<string> {
  const version = execFileSync(file, ['--version'], { stdio: 'pipe' }).toString().trim();
  const owner = identity?.uid ?? process.getuid?.() ?? 'user';
  return keptTemplate(`${version}-of-${owner}`.replace(/[^\w.-]+/g, '-'), async (path) => {
    if (identity) chownSync(path, identity.uid, identity.gid);
    const dir = join(path, 'data');
    await createCluster(file, path, dir, identity);
    return dir;
  });
}

async function createCluster(file: string, cwd: string, dir: string, identity?: Identity): Promise<void> {
  const flags = ['-A', 'trust', '-U', 'postgres', '--locale=C', '--encoding=UTF8', '--no-sync'];
  const args = ['-D', dir, ...flags];
  const initdb = await spawnOwned({ file, args, cwd, logFile: join(cwd, 'initdb.log'), identity });
  const ending = await initdb.waitForExit();
  if (ending !== 'exit code 0') throw new Error(`initdb failed with ${ending}\n${initdb.output()}`);
}

function unprivilegedIdentity(): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const ask = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { stdio: 'pipe' }).toString());
  try {
    return { uid: ask('-u'), gid: ask('-g') };
  } catch (cause) {
    throw new Error('PostgreSQL refuses to run as root and there is no user `postgres`; create one', {
      cause,
    });
  }
}

function urlOf(port: number): string {
  return `postgres://postgres@${HOST}:${port}/postgres`;
}

/** Compares the data folder: the answers of another PostgreSQL on the port would look the same. */
function queryOwn(port: number, dir: string): Promise<void> {
  const ask = async (client: Client) => {
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    if (rows[0]?.data_directory !== dir) throw new Error(`another server answered: ${JSON.stringify(rows)}`);
  };
  return withPostgres(urlOf(port), ask, PROBE_TIMEOUT_MS);
}
