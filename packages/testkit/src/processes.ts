/*
 * Child processes that cannot outlive this one.
 *
 *     exit, uncaught error, SIGINT, SIGTERM, SIGHUP ──▶ atProcessEnd ──▶ killTree
 *     SIGKILL ──▶ the parent-death signal that setpriv asks for (Linux)
 *
 * A frozen process does not get to die of the parent-death signal: the next `createOwnedFolder` of any process kills it.
 * The functions on process trees are synchronous, because an `exit` hook cannot wait. Each takes milliseconds.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** One line of the machine's process table. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** The kernel's letter: R running, S sleeping, T stopped by a signal, Z zombie … */
  readonly state: string;
  readonly hasTerminal: boolean;
  /** Distinguishes two processes that had the same pid. Comparable only on one machine and boot. */
  readonly startedAt: string;
}

/** Reads one process; `undefined` if there is none. */
export function readProcess(pid: number): ProcessEntry | undefined {
  if (process.platform !== 'linux') return listProcesses().find((entry) => entry.pid === pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets: the numbered fields begin after the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      pid,
      state: fields[0] ?? '',
      parentPid: Number(fields[1]),
      hasTerminal: fields[4] !== '0',
      startedAt: Number(fields[19]).toString(36),
    };
  } catch {
    return undefined;
  }
}

/** Reads the process table. A process that ends meanwhile may be missing. */
export function listProcesses(): ProcessEntry[] {
  if (process.platform !== 'linux') return listWithPs();
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((entry) => entry !== undefined);
}

/** Reads the process table on systems without /proc. Exported for the test that compares the two. */
export function listWithPs(): ProcessEntry[] {
  const columns = 'pid=,ppid=,state=,tty=,lstart=';
  return execFileSync('ps', ['-A', '-o', columns], { encoding: 'utf8', env: { LC_ALL: 'C' } })
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

/** Reports whether a process has ended. A zombie has, although signal 0 still reaches it until its parent collects it. */
export function isProcessGone(pid: number): boolean {
  const state = readProcess(pid)?.state;
  return state === undefined || state === 'Z' || state === 'X';
}

/** Reads the working directory of a process; `undefined` where the platform or the permissions hide it. */
export function workingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

const SETTLE_MS = 2_000;

/**
 * Stops a process and all its descendants (SIGSTOP).
 * @throws Error if one still runs after two seconds.
 */
export function freezeTree(pid: number): void {
  // The root first: once it is stopped it forks no more, and the list of its children is final.
  send(pid, 'SIGSTOP');
  if (!waitSync(() => isStopped(pid))) throw new Error(`process ${pid} did not stop within ${SETTLE_MS} ms`);
  const areStopped = waitSync(() => {
    const running = descendants(pid).filter((child) => !isStopped(child));
    for (const child of running) send(child, 'SIGSTOP');
    return running.length === 0;
  });
  if (!areStopped) throw new Error(`children of process ${pid} did not stop within ${SETTLE_MS} ms`);
}

/** Lets a frozen tree continue (SIGCONT), children before the root that watches them. */
export function thawTree(pid: number): void {
  for (const each of [...descendants(pid), pid]) send(each, 'SIGCONT');
}

/** Kills a process and all its descendants (SIGKILL) and waits until they are gone. */
export function killTree(pid: number): void {
  if (isProcessGone(pid)) return;
  send(pid, 'SIGSTOP');
  waitSync(() => isStopped(pid));
  const pids = [...descendants(pid), pid];
  for (const each of pids) send(each, 'SIGKILL');
  waitSync(() => pids.every(isProcessGone));
}

/** PostgreSQL gives each backend a session of its own, so no process group contains them all. */
function descendants(root: number): number[] {
  const all = listProcesses();
  const found: number[] = [root];
  // The list grows while it is read.
  for (const parent of found)
    found.push(...all.filter(({ parentPid }) => parentPid === parent).map(({ pid }) => pid));
  return found.slice(1);
}

function isStopped(pid: number): boolean {
  return isProcessGone(pid) || readProcess(pid)?.state === 'T';
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile, which every caller waits for.
  }
}

function waitSync(condition: () => boolean): boolean {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const end = performance.now() + SETTLE_MS;
  while (!condition()) {
    if (performance.now() > end) return false;
    Atomics.wait(nap, 0, 0, 1);
  }
  return true;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const cleanUps = new Set<() => void>();

/**
 * Calls `cleanUp` when this process ends: at `exit` (also after an uncaught error), SIGINT, SIGTERM and SIGHUP. If the
 * process has a handler of its own for a signal, that handler decides whether it ends, and the clean-ups wait for `exit`.
 * Returns a function that cancels. The hooks exist only while something is registered.
 */
export function atProcessEnd(cleanUp: () => void): () => void {
  if (cleanUps.size === 0) {
    process.on('exit', cleanUpAll);
    // First in the list, to see the other listeners: a `once` handler is off the list when the next one runs.
    for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  }
  cleanUps.add(cleanUp);
  return () => {
    if (cleanUps.delete(cleanUp) && cleanUps.size === 0) unhook();
  };
}

function unhook(): void {
  process.off('exit', cleanUpAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  cleanUpAll();
  // Without our listener the signal has its default effect, and the parent sees the true cause of death.
  process.kill(process.pid, signal);
}

function cleanUpAll(): void {
  for (const cleanUp of [...cleanUps].reverse()) {
    try {
      cleanUp();
    } catch (error) {
      // The others must run too.
      process.stderr.write(`testkit: clean-up at process end failed: ${String(error)}\n`);
    }
  }
  cleanUps.clear();
  unhook();
}

/** The user that a process runs as. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

interface OwnedCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Receives its output. */
  readonly logFile: string;
  /** The user that it runs as (that of this process). */
  readonly identity?: Identity | undefined;
}

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find(existsSync);

/**
 * Starts a child process that dies with this one, on Linux even if this one gets SIGKILL.
 * @throws Error if it cannot be started.
 */
export async function spawnOwned(command: OwnedCommand): Promise<OwnedProcess> {
  const [file, args] = bindToThisProcess(command.file, command.args);
  // A file, not a pipe: a pipe is an open handle of this process, and it fills up if nothing reads it.
  const log = openSync(command.logFile, 'a', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(file, args, {
      cwd: command.cwd,
      env: { ...process.env, LC_ALL: 'C' }, // The kit reads the servers' messages, so they must be in English.
      stdio: ['ignore', log, log],
      detached: true, // Ctrl-C is for the runner, which stops the servers when it no longer needs them.
      ...command.identity,
    });
  } finally {
    closeSync(log);
  }
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(new Error(`cannot start ${command.file}: ${cause.message}`, { cause })),
    );
  });
  child.unref();
  return new OwnedProcess(child, command.logFile);
}

/** A child process that dies with this one and does not keep it alive. */
export class OwnedProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #exited: Promise<string>;
  #ending: string | undefined;

  constructor(child: ChildProcess, logFile: string) {
    this.#child = child;
    this.#logFile = logFile;
    this.pid = child.pid as number; // Set once 'spawn' was emitted.
    const forget = atProcessEnd(() => killTree(this.pid));
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        forget();
        this.#ending = signal ? `signal ${signal}` : `exit code ${code}`;
        resolve(this.#ending);
      });
    });
  }

  /** "exit code 1" or "signal SIGKILL"; `undefined` while it runs. */
  get ending(): string | undefined {
    return this.#ending;
  }

  /** All that it has printed. */
  output(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** Resolves with its ending. Keeps this process alive meanwhile. */
  waitForExit(): Promise<string> {
    if (this.#ending === undefined) this.#child.ref();
    return this.#exited;
  }

  /** Sends a signal to the process alone, if it still runs. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Kills it and its descendants, and waits for its end. */
  async kill(): Promise<void> {
    if (this.#ending === undefined) killTree(this.pid);
    await this.waitForExit();
  }
}

function bindToThisProcess(file: string, args: readonly string[]): [string, string[]] {
  if (SETPRIV === undefined) return [file, [...args]];
  // A parent that died before setpriv asked sends no signal, so the shell compares PPID afterwards.
  const unlessOrphaned = '[ "$PPID" = "$0" ] && exec "$@"';
  return [
    SETPRIV,
    ['--pdeathsig', 'KILL', '--', '/bin/sh', '-c', unlessOrphaned, String(process.pid), file, ...args],
  ];
}
