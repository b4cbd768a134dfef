import { until } from '@millrace/testkit';
import { threadTask } from '../../src/threads/thread-task.js';

type Work = typeof import('./fixtures/work.mjs');
export const workUrl = new URL('./fixtures/work.mjs', import.meta.url);
const failuresUrl = new URL('./fixtures/failures.mjs', import.meta.url);

export const add = threadTask<Work>(workUrl, 'add');
export const greet = threadTask<Work>(workUrl, 'greet');
export const whereAmI = threadTask<Work>(workUrl, 'whereAmI');
export const burn = threadTask<Work>(workUrl, 'burn');
export const hold = threadTask<Work>(workUrl, 'hold');
export const loop = threadTask<Work>(workUrl, 'loop');
export const countIn = threadTask<Work>(workUrl, 'countIn');
export const giveFunction = threadTask<Work>(workUrl, 'giveFunction');

/** A task of `failures.mjs`, which has no types. */
export const failing = (name: string) => threadTask(failuresUrl, name);

/** Memory that a test and a thread both see. */
export function sharedCells() {
  const memory = new SharedArrayBuffer(8);
  const cells = new Int32Array(memory);
  return {
    memory,
    first: () => Atomics.load(cells, 0),
    second: () => Atomics.load(cells, 1),
    /** Waits until the task in the thread has begun. */
    begun: (count = 1) =>
      until(() => Atomics.load(cells, 0) >= count, {
        what: `${count} tasks to begin`,
        deadlineMs: 15_000,
      }),
    /** Lets `hold` return. */
    release() {
      Atomics.store(cells, 1, 1);
      Atomics.notify(cells, 1);
    },
  };
}
