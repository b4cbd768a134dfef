import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SHORT_LIVED_PGLITE, until } from '@millrace/testkit';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const CLI = fileURLToPath(new URL('../../dist/cli/millrace.js', import.meta.url));

/** How a process has ended. */
interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A `millrace` of its own, from the build; it is killed when it is disposed of. */
export interface MillraceProcess extends AsyncDisposable {
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<Ended>;
  /** Its address, when it serves. */
  url(): Promise<string>;
  /** Of the server, as it says itself: npm and the shell have others. */
  readonly pid: () => number;
  kill(signal: NodeJS.Signals): void;
}

/** Runs `millrace` as a user would. */
export const runMillrace = (
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly folder: string },
): MillraceProcess =>
  watched(
    spawn(process.execPath, [...SHORT_LIVED_PGLITE, CLI, ...args], {
      cwd: options.folder,
      env: { PATH: process.env.PATH, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );

/**
 * Runs `npm start` in the repository, as a newcomer would.
 * @param args - for `millrace start`.
 */
export const runNpmStart = (...args: string[]): MillraceProcess =>
  watched(spawn('npm', ['start', '--', ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] }));

/** Runs any command that starts a server and says where. All that it has started is killed with it. */
export function runServer(
  [command, ...args]: readonly [string, ...string[]],
  { env, folder }: { readonly env: NodeJS.ProcessEnv; readonly folder: string },
): MillraceProcess {
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  return watched(child, () => {
    // Of a group that is gone there is nothing to kill.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
}

function watched(child: ChildProcess, end = () => void child.kill('SIGKILL')): MillraceProcess {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: () => Number(/process (\d+)/.exec(texts.stderr)?.[1]),
    out: () => texts.stdout,
    err: () => texts.stderr,
    ended,
    kill: (signal) => void child.kill(signal),
    url: () =>
      Promise.race([
        until(() => /serves (http\S+)/.exec(texts.stderr + texts.stdout)?.[1], {
          what: 'the address of the server',
          deadlineMs: 40_000,
          intervalMs: 20,
        }),
        ended.then(() => {
          throw new Error(`It has ended: ${texts.stderr}`);
        }),
      ]),
    [Symbol.asyncDispose]: async () => {
      end();
      await ended;
    },
  };
}
