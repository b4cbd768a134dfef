import type { ResourceLimits } from 'node:worker_threads';
import { printable } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { Thread, ThreadAnswer, ThreadRequest } from './thread.js';
import { unpackError } from './thread-error.js';
import type { ThreadTask } from './thread-task.js';

/** Runs thread tasks, each on a thread of its own; its caller bounds how many at once. */
export class ThreadLane {
  readonly #resourceLimits: Readonly<ResourceLimits>;
  readonly #threads = new Set<Thread>();
  readonly #idle: Thread[] = [];
  #loading: Promise<typeof import('./thread.js')> | undefined;

  constructor(resourceLimits: Readonly<ResourceLimits>) {
    this.#resourceLimits = resourceLimits;
  }

  /** Runs one task; when it is aborted or its thread crashes, ends only after the thread is gone. */
  async run(id: string, task: ThreadTask, args: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const answer = await this.#answer(id, { module: task.module, name: task.name, args }, signal);
    if ('error' in answer) throw unpackError(answer.error);
    return answer.value;
  }

  /** Terminates all threads; resolves when they are gone. */
  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.close()));
  }

  /** The thread used last, whose modules and caches are warm; those that died while idle are dropped. */
  #idleThread(): Thread | undefined {
    for (let thread = this.#idle.pop(); thread; thread = this.#idle.pop()) {
      if (thread.alive) return thread;
      this.#threads.delete(thread);
    }
    return undefined;
  }

  async #answer(id: string, request: ThreadRequest, signal: AbortSignal): Promise<ThreadAnswer> {
    // Loaded when the first thread is needed: a pool of functions pays nothing for piscina.
    this.#loading ??= import('./thread.js');
    const { Thread } = await this.#loading;
    for (;;) {
      signal.throwIfAborted();
      const used = this.#idleThread();
      const thread = used ?? new Thread(this.#resourceLimits);
      this.#threads.add(thread);
      try {
        return await thread.run(request, signal);
      } catch (cause) {
        // A used thread may be dead before we are told, of what an earlier task left behind: nothing to do with this one.
        if (used && !used.alive && !used.begun) continue;
        throw failure(id, cause);
      } finally {
        if (thread.alive) this.#idle.push(thread);
        else this.#threads.delete(thread);
      }
    }
  }
}

function failure(task: string, cause: unknown): Error {
  const { name, message } = (cause ?? {}) as Partial<Error>;
  if (name === 'DataCloneError') {
    const reason = `what goes to a thread and comes back must be data, and ${message}`;
    return ERRORS.create('TASK_FAILED', { task, reason }, { cause });
  }
  return ERRORS.create('THREAD_CRASHED', { task, reason: message ?? printable(cause) }, { cause });
}
