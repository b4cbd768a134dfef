import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Step } from './chain.js';
import type { DagBrief } from './dag-brief.js';

const PROGRAM = fileURLToPath(new URL('./poller-child.js', import.meta.url));
const ANSWER_WITHIN_MS = 30_000;

/** What a poller process is told. */
export interface PollerBrief {
  readonly url: string;
  /** Whose tasks it runs. */
  readonly dags: readonly DagBrief[];
  /** Tasks at once; as it comes unless given. */
  readonly concurrency?: number;
}

/** An outbox that runs tasks in a process of its own. */
export interface PollerProcess {
  /** The steps of chains that ran there. */
  report(): Promise<readonly Step[]>;
  stop(): Promise<void>;
}

/** Starts a poller process; it polls when this returns. */
export async function startPoller(brief: PollerBrief): Promise<PollerProcess> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(brief)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const end = async (how: () => void) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    how();
    const timer = setTimeout(() => child.kill('SIGKILL'), ANSWER_WITHIN_MS);
    await gone;
    clearTimeout(timer);
  };
  try {
    await answerOf(child);
  } catch (error) {
    await end(() => child.kill('SIGKILL'));
    throw error;
  }
  return {
    async report() {
      child.send('report');
      return (await answerOf(child)) as readonly Step[];
    },
    stop: () => end(() => child.send('stop')),
  };
}

/** What it says next; a child that ends instead is an error, not a wait. */
async function answerOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ANSWER_WITHIN_MS);
  const { signal } = over;
  const said = once(child, 'message', { signal }).then(([answer]) => answer);
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the poller process ended with ${code}`);
  });
  said.catch(() => {}); // Whichever comes second is aborted.
  ended.catch(() => {});
  try {
    return await Promise.race([said, ended]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
