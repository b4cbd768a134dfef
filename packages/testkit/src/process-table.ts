import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** One line of the machine's process table. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** The kernel's letter: R running, S sleeping, T stopped by a signal, Z zombie … */
  readonly state: string;
  /** Whether it belongs to somebody's terminal. */
  readonly hasTerminal: boolean;
  /** Tells two owners of one pid apart; comparable only on the machine and boot it was read on. */
  readonly startedAt: string;
}

const isLinux = process.platform === 'linux';

/**
 * Reads one process.
 * @returns its entry, or `undefined` when there is none.
 */
export function readProcess(pid: number): ProcessEntry | undefined {
  if (!isLinux) return listProcesses().find((entry) => entry.pid === pid);
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/**
 * Reads the whole process table.
 * @returns every process seen; one that ends while the table is read may be absent.
 */
export function listProcesses(): ProcessEntry[] {
  if (!isLinux) return parsePs(execFileSync('ps', PS_ARGUMENTS, { encoding: 'utf8', env: { LC_ALL: 'C' } }));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((entry) => entry !== undefined);
}

/**
 * Tells whether a process has ended. A zombie has: signal 0 still reaches it until its parent collects it, so
 * `kill -0` would say otherwise.
 * @returns true when nothing runs under that pid any more.
 */
export function isProcessGone(pid: number): boolean {
  const state = readProcess(pid)?.state;
  return state === undefined || state === 'Z' || state === 'X';
}

/**
 * Reads the working directory of a process.
 * @returns the folder, or `undefined` where the platform or the permissions do not tell.
 */
export function workingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function parseStat(pid: number, stat: string): ProcessEntry {
  // The command name may hold spaces and brackets: the numbered fields begin after the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    state: fields[0] ?? '',
    parentPid: Number(fields[1]),
    hasTerminal: fields[4] !== '0',
    startedAt: Number(fields[19]).toString(36),
  };
}

/** What `parsePs` expects `ps` to be called with; exported for the test that compares it with /proc. */
export const PS_ARGUMENTS = ['-A', '-o', 'pid=,ppid=,state=,tty=,lstart='];

/**
 * Parses the output of `ps` with {@link PS_ARGUMENTS}, for systems without /proc.
 * @returns one entry per line.
 */
export function parsePs(output: string): ProcessEntry[] {
  return output
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words.length > 4)
    .map(([pid, parentPid, state, tty, ...started]) => ({
      pid: Number(pid),
      parentPid: Number(parentPid),
      state: state?.[0] ?? '',
      hasTerminal: tty !== undefined && !tty.startsWith('?'),
      startedAt: (Date.parse(started.join(' ')) / 1000).toString(36),
    }));
}
