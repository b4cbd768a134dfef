import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from './until.js';

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** An application in a process of its own, which says `up` when it works, and `{ started }` for each piece of work that it begins. */
export interface RunningApplication extends Disposable {
  readonly program: ChildProcess;
  /** The names of the work that it has begun. */
  readonly started: readonly string[];
  readonly exited: Promise<ProgramEnd>;
  /** What it wrote to standard error. */
  said(): string;
  /** Resolves when it has begun so much work. */
  running(count: number): Promise<unknown>;
  /**
   * Sends SIGTERM.
   * @param times - how often (1).
   * @returns how it ended, and after how long.
   */
  terminate(times?: number): Promise<ProgramEnd & { readonly ms: number }>;
}

const RUNNING_WITHIN_MS = 10_000;

/**
 * Runs an application; it is up when this resolves, or has ended. Killed when it is disposed of.
 * @param brief - its only argument, as JSON.
 */
export async function runApplication(program: string, brief: unknown): Promise<RunningApplication> {
  const child = spawn(process.execPath, [program, JSON.stringify(brief)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const started: string[] = [];
  child.on('message', (message: { started?: string } | 'up') => {
    if (message !== 'up' && message.started) started.push(message.started);
  });
  const exited: Promise<ProgramEnd> = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  await Promise.race([once(child, 'message'), exited]);
  return {
    program: child,
    started,
    exited,
    said: () => said,
    running: (count) =>
      until(() => started.length >= count, { what: `${count} to run`, deadlineMs: RUNNING_WITHIN_MS }),
    async terminate(times = 1) {
      const startedAt = performance.now();
      for (let n = 0; n < times; n++) child.kill('SIGTERM');
      return { ...(await exited), ms: performance.now() - startedAt };
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}
