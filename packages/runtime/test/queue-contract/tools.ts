import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Rng } from '@millrace/foundation';
import type { Queue, QueueWaitOptions } from '../../src/ports.js';

/** The part of a queue's configuration that every queue has. */
interface SandboxQueueConfig {
  readonly maxSize?: number | undefined;
  readonly defaultTimeoutMs?: number | undefined;
}

/** Makes an empty queue that shares nothing with any other; refuses a bad configuration as the queue's class does. */
export type Create = <T>(config?: SandboxQueueConfig) => Promise<Queue<T>>;

/** Real milliseconds in which something must not happen, or a wait must end. */
export const SHORT_MS = 30;
/** Timers may fire a little early. */
export const EARLY_MS = 5;

/** 0, 1, … `count` - 1. */
export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** A promise, and whether it has settled. */
export function watch<T>(promise: Promise<T>): { readonly promise: Promise<T>; readonly settled: boolean } {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  return {
    promise,
    get settled() {
      return settled;
    },
  };
}

/** Lets real time pass by waiting for what never comes to another queue. */
export async function quietTime(create: Create, ms = SHORT_MS): Promise<void> {
  await (await create()).get({ timeoutMs: ms });
}

/** Takes everything that is there. */
export async function drain<T>(queue: Queue<T>): Promise<T[]> {
  const payloads: T[] = [];
  for (;;) {
    const item = await queue.get({ timeoutMs: 0 });
    if (!item) return payloads;
    payloads.push(item.payload);
  }
}

/** Turns the two ways to give up into null; any other failure stays one. */
export function unlessCancelled(error: unknown): null {
  const { code } = error as { code?: unknown };
  if (code === 'ABORTED' || code === 'QUEUE_FULL') return null;
  throw error;
}

/** Makes a call that waits a few milliseconds at most and that is often aborted on the way; null when it gave up. */
export async function impatiently<R>(
  rng: Rng,
  call: (options: QueueWaitOptions) => Promise<R>,
): Promise<R | null> {
  const controller = new AbortController();
  const answer = call({ timeoutMs: rng.integer(0, 4), signal: controller.signal }).catch(unlessCancelled);
  if (rng.chance(0.5)) {
    for (let turns = rng.integer(0, 3); turns > 0; turns--) await nextTurn();
    controller.abort();
  }
  // At least one real turn per call: a loop of microtasks alone would let no timer fire.
  await nextTurn();
  return answer;
}
