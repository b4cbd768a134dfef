import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What takes longer will never be answered: a run of a minute, and the checks after it. */
const ANSWER_WITHIN_MS = 180_000;
const GONE_WITHIN_MS = 30_000;

/** A process that answers questions, one at a time. */
export interface Child {
  /** What it said when it was ready. */
  readonly ready: unknown;
  ask(question: object): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a process; it is ready when this returns. */
export async function startChild(program: URL, brief: object = {}): Promise<Child> {
  const file = fileURLToPath(program);
  const child = spawn(process.execPath, [file, JSON.stringify(brief)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    return {
      ready: await answerOf(child, file),
      async ask(question) {
        child.send(question);
        return answerOf(child, file);
      },
      stop: () => ended(child, () => child.disconnect()),
    };
  } catch (error) {
    await ended(child, () => child.kill('SIGKILL'));
    throw error;
  }
}

async function ended(child: ChildProcess, how: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  how();
  const timer = setTimeout(() => child.kill('SIGKILL'), GONE_WITHIN_MS);
  await gone;
  clearTimeout(timer);
}

/** What it says next; a child that ends instead is an error, not a wait. */
async function answerOf(child: ChildProcess, file: string): Promise<unknown> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ANSWER_WITHIN_MS);
  const { signal } = over;
  const said = once(child, 'message', { signal }).then(([answer]) => answer);
  const gone = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`${file} ended with ${code} instead of an answer`);
  });
  said.catch(() => {}); // Whichever comes second is aborted.
  gone.catch(() => {});
  try {
    return await Promise.race([said, gone]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
