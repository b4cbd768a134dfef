import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from './until.js';

interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

const RUNNING_WITHIN_MS = 10_000;

/**
 * Runs an application in a process of its own, which sends `up` when it works and `{ started }` for each piece of work.
 * Returns when it is up or has ended. Disposing of it kills it.
 * @param brief - its only argument, as JSON.
 */
export async function runApplication(program: string, brief: unknown) {
  const child = spawn(process.execPath, [program, JSON.stringify(brief)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errorOutput = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorOutput += text;
  });
  const started: string[] = [];
  child.on('message', (message: { started?: string } | 'up') => {
    if (message !== 'up' && message.started) started.push(message.started);
  });
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as ProgramEnd);
  await Promise.race([once(child, 'message'), exited]);
  return {
    program: child,
    /** The names of the work that it has started. */
    started: started as readonly string[],
    exited,
    said: () => errorOutput,
    /** Resolves when it has started `count` pieces of work. */
    running: (count: number) =>
      until(() => started.length >= count, { what: `${count} to run`, deadlineMs: RUNNING_WITHIN_MS }),
    /** Sends SIGTERM once or more. Returns its end and the time until then. */
    async terminate(times = 1) {
      const startedAt = performance.now();
      for (let n = 0; n < times; n++) child.kill('SIGTERM');
      return { ...(await exited), ms: performance.now() - startedAt };
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}
