import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ServiceBrief, ServiceReport } from './hidden-service.js';

const PROGRAM = fileURLToPath(new URL('./service-child.js', import.meta.url));
const UP_WITHIN_MS = 10_000;

/** A hidden service in its own process. */
export interface ServiceProcess {
  /** Calls go here by POST. */
  readonly url: string;
  report(): Promise<ServiceReport>;
  stop(): Promise<void>;
}

/**
 * Starts a hidden service.
 * @param brief - what it is; the caller under test is told nothing of it.
 */
export async function startService(brief: ServiceBrief, program = PROGRAM): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [program, JSON.stringify(brief)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const port = await portOf(child);
  const origin = `http://127.0.0.1:${port}`;
  return {
    url: `${origin}/call`,
    async report() {
      const response = await fetch(`${origin}/report`);
      return (await response.json()) as ServiceReport;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** What it says first is its port; a child that dies instead is an error, not a wait. */
async function portOf(child: ChildProcess): Promise<number> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), UP_WITHIN_MS);
  const { signal } = over;
  try {
    const up = once(child, 'message', { signal }).then(([port]) => Number(port));
    const dead = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`the hidden service ended with ${code} before it listened`);
    });
    up.catch(() => {}); // Whichever comes second is aborted.
    dead.catch(() => {});
    return await Promise.race([up, dead]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
