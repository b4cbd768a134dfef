import { execFileSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { findServerBinaries } from '../server-binaries.mjs';
import { findBinary } from './find-binary.js';
import { copyFolder, keptTemplate } from './kept-template.js';
import { createOwnedFolder } from './owned-folder.js';
import { HOST, type PrivateServer, ServerLife } from './private-server.js';
import { type Identity, spawnOwned } from './processes.js';

/** How a private PostgreSQL differs from the default one. */
export interface PostgresServerOptions {
  /** Appended to the command line, so they win: `['-c', 'log_statement=all']`. */
  readonly args?: readonly string[] | undefined;
  /** A fixed port; a free one unless given. */
  readonly port?: number | undefined;
  /** Whether commits wait for the disk; false unless given. Off, a killed server still loses nothing. */
  readonly fsync?: boolean | undefined;
}

/** A private PostgreSQL; see {@link PrivateServer} for its life cycle. */
export interface PostgresServer extends PrivateServer {
  /** Ends the server with SIGQUIT, as a crash would; the data stays for `restart`, which recovers it. */
  stopImmediate(): Promise<void>;
}

const PROBE_TIMEOUT_MS = 500;

/**
 * Starts a PostgreSQL for this process alone: own port on 127.0.0.1, own cluster, no password, 200 connections.
 * Works for root too: the server then runs as the user `postgres`, since PostgreSQL refuses root.
 * @returns the server, which has answered a query.
 * @throws Error with the command that installs PostgreSQL when there is none, or with the server's output when
 *   initdb fails or the server does not answer within five seconds.
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
  const server = new PostgresLife({
    name: 'postgres',
    folder,
    dir,
    identity,
    port: options.port,
    stopSignal: 'SIGINT',
    command: (port) => ({ file, args: postgresArguments(port, dir, folder.path, options) }),
    url: urlOf,
    probe: (port) => queryOwn(port, dir),
  });
  await server.start();
  return server;
}

class PostgresLife extends ServerLife implements PostgresServer {
  async stopImmediate(): Promise<void> {
    await this.end('SIGQUIT');
  }
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
    // As files in the data folder, which is removed; in /dev/shm they would outlive a killed server.
    dynamic_shared_memory_type: 'mmap',
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  return ['-D', dir, ...flags, ...(options.args ?? [])];
}

/** A new cluster takes a second of CPU, a copy of one a tenth of that. */
function clusterTemplate(file: string, identity?: Identity): Promise<string> {
  const version = execFileSync(file, ['--version'], { stdio: 'pipe' }).toString().trim();
  const owner = identity?.uid ?? process.getuid?.() ?? 'anybody';
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
    throw new Error('expected a user `postgres` to run PostgreSQL as, since it refuses root; found none', {
      cause,
    });
  }
}

function urlOf(port: number): string {
  return `postgres://postgres@${HOST}:${port}/postgres`;
}

/** Asks for the data folder: had somebody else's PostgreSQL taken the port, its answers would look like ours. */
async function queryOwn(port: number, dir: string): Promise<void> {
  const client = new pg.Client({
    connectionString: urlOf(port),
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  });
  client.on('error', () => {}); // Reported by the call that fails.
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    if (rows[0]?.data_directory !== dir) throw new Error(`another server answered: ${JSON.stringify(rows)}`);
  } finally {
    await client.end();
  }
}
