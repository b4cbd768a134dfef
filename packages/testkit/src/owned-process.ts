import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { atProcessEnd } from './process-end.js';
import { killTree } from './process-tree.js';

/** What to run. */
export interface OwnedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** The folder it works in. */
  readonly cwd: string;
  /** Where its output is kept. */
  readonly logFile: string;
  /** The user to run as, when not this process's own. */
  readonly identity?: { readonly uid: number; readonly gid: number } | undefined;
}

/** A child process that cannot outlive this one and does not keep it alive. */
export interface OwnedProcess {
  readonly pid: number;
  /** How it ended ("exit code 1", "signal SIGKILL"), or `undefined` while it runs. */
  readonly ending: string | undefined;
  /** Everything it printed. */
  output(): string;
  /** Waits for its end; keeps this process alive meanwhile. */
  waitForExit(): Promise<string>;
  /** Sends a signal to the process alone; does nothing when it has ended. */
  signal(signal: NodeJS.Signals): void;
  /** Kills it and all it forked, and waits for its end. */
  kill(): Promise<void>;
}

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find(existsSync);

/**
 * Starts a child process that dies with this one, SIGKILL included (on Linux with setpriv).
 * @returns the running process.
 * @throws Error when it cannot be spawned.
 */
export async function spawnOwned(command: OwnedCommand): Promise<OwnedProcess> {
  const [file, args] = bindToThisProcess(command.file, command.args);
  // A file, not a pipe: a pipe would count as an open handle of this process and would fill up when nobody reads.
  const log = openSync(command.logFile, 'a', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(file, args, {
      cwd: command.cwd,
      env: { ...process.env, LC_ALL: 'C' }, // The kit reads the servers' messages, so they must be in English.
      stdio: ['ignore', log, log],
      detached: true, // Ctrl-C is for the runner: it stops the servers when it has no more use for them.
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
  return own(child, command.logFile);
}

function own(child: ChildProcess, logFile: string): OwnedProcess {
  const pid = child.pid as number; // Set once 'spawn' was emitted.
  let ending: string | undefined;
  const forget = atProcessEnd(() => killTree(pid));
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      forget();
      ending = signal ? `signal ${signal}` : `exit code ${code}`;
      resolve(ending);
    });
  });
  const waitForExit = () => {
    if (ending === undefined) child.ref();
    return exited;
  };
  return {
    pid,
    get ending() {
      return ending;
    },
    output: () => readFileSync(logFile, 'utf8'),
    waitForExit,
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      if (ending === undefined) killTree(pid);
      await waitForExit();
    },
  };
}

function bindToThisProcess(file: string, args: readonly string[]): [string, string[]] {
  if (SETPRIV === undefined) return [file, [...args]];
  // The parent-death signal is not sent for a parent that died before it was asked for: hence the look at PPID after.
  const unlessOrphaned = '[ "$PPID" = "$0" ] && exec "$@"';
  return [
    SETPRIV,
    ['--pdeathsig', 'KILL', '--', '/bin/sh', '-c', unlessOrphaned, String(process.pid), file, ...args],
  ];
}
