import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../apps/server/dist/cli/millrace.js', import.meta.url));
const PAGE_KIB = 1024;

/** A server in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  /** The most memory that it has had resident so far, in MB. */
  peakMb(): number;
  /** Processor time that it has used so far, in ms. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Where a command of the server runs, and with which settings. */
export interface ServerPlace {
  /** Its working directory; settings may stand in a file there. */
  readonly folder: string;
  /** Settings as variables. */
  readonly env: Readonly<Record<string, string>>;
}

const surroundings = ({ folder, env }: ServerPlace) => ({
  cwd: folder,
  env: { ...process.env, PORT: '0', MILLRACE_LOG_LEVEL: 'warn', ...env },
});

/** Makes the tables of a server. */
export async function migrate(place: ServerPlace): Promise<void> {
  const migrated = spawn(process.execPath, [CLI, 'migrate'], { ...surroundings(place), stdio: 'ignore' });
  const [code] = await once(migrated, 'exit');
  if (code !== 0) throw new Error(`millrace migrate ended with ${code}`);
}

/** Starts a server; it answers when this returns. */
export async function startServer(place: ServerPlace): Promise<ServerProcess> {
  const child = spawn(process.execPath, [CLI, 'start'], {
    ...surroundings(place),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await addressOf(child.stderr);
  // Nobody reads what it says from now on, and a full pipe must not hold it up.
  child.stderr.resume();
  return {
    url,
    peakMb: () => (statusOf(child.pid, 'VmHWM') * PAGE_KIB) / 1e6,
    cpuMs: () => cpuOf(child.pid),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

async function addressOf(output: NodeJS.ReadableStream): Promise<string> {
  const said: string[] = [];
  for await (const line of createInterface({ input: output })) {
    said.push(line);
    const [url] = /http:\/\/[\d.:]+/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`The server ended without saying where it listens: ${said.join(' ')}`);
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
