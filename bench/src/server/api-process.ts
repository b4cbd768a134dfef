import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startPostgres, startRedis } from '@millrace/testkit';

const CLI = fileURLToPath(new URL('../../../apps/server/dist/cli/millrace.js', import.meta.url));
const PAGE_KIB = 1024;

/** An API instance in a process of its own, on a Redis and a PostgreSQL of this run. */
export interface ApiProcess {
  readonly url: string;
  /** The most memory that it has had resident so far, in MB. */
  peakMb(): number;
  /** Processor time that it has used so far, in ms. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Starts one; it answers when this returns. */
export async function startApi(): Promise<ApiProcess> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const env = {
    ...process.env,
    PORT: '0',
    REDIS_URL: redis.url,
    DATABASE_URL: postgres.url,
    MILLRACE_ROLE: 'api',
    MILLRACE_LOG_LEVEL: 'warn',
  };
  const stopServers = async () => {
    await Promise.all([redis.stop(), postgres.stop()]);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const migrated = spawn(process.execPath, [CLI, 'migrate'], { cwd: folder, env, stdio: 'ignore' });
    const [code] = await once(migrated, 'exit');
    if (code !== 0) throw new Error(`millrace migrate ended with ${code}`);
    const child = spawn(process.execPath, [CLI, 'start'], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const url = await addressOf(child.stderr);
    return {
      url,
      peakMb: () => (statusOf(child.pid, 'VmHWM') * PAGE_KIB) / 1e6,
      cpuMs: () => cpuOf(child.pid),
      async stop() {
        child.kill('SIGTERM');
        await once(child, 'exit');
        await stopServers();
      },
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}

async function addressOf(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input: output });
  for await (const line of lines) {
    const [url] = /http:\/\/[\d.:]+/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error('The API ended without saying where it listens');
}

/** A number of /proc/PID/status, in KiB. */
function statusOf(pid: number | undefined, field: string): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** Clock ticks are 10 ms on every Linux that Node runs on. */
function cpuOf(pid: number | undefined): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
  return (user + system) * 10;
}
