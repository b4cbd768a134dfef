import { getEventListeners } from 'node:events';
import { seededRng } from '@millrace/foundation';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { isAbortError, type LimitFunction, pLimit } from '../src/index.js';
import { useFakeTime } from './leftovers.js';

const SEEDS = 1000;
const TASKS = 1000;
const WITHIN_MS = 8000;

// Taken before time is faked. `nextTurn` lets all promise reactions run between two steps of fake time.
const realImmediate = setImmediate;
const realNow = performance.now.bind(performance);
const nextTurn = () => new Promise((resolve) => realImmediate(resolve));

useFakeTime();

interface Task {
  readonly priority: number;
  readonly submitted: number;
  readonly controller: AbortController | undefined;
  starts: number;
  settled: 'value' | 'abort' | undefined;
  waiting: boolean;
}

/** One random life of a limiter; checks every rule at every step. */
class Scenario {
  readonly #rng;
  readonly #limit: LimitFunction;
  readonly #tasks: Task[] = [];
  readonly #waiting = Array.from({ length: 11 }, () => new Set<Task>());
  readonly #abortable = new Set<Task>();
  #running = 0;
  #allowed: number;
  #taken = 0;
  readonly #broken: unknown[] = [];

  constructor(seed: number) {
    this.#rng = seededRng(seed);
    this.#allowed = this.#rng.integer(1, 20);
    this.#limit = pLimit(this.#allowed);
  }

  async run(): Promise<void> {
    while (this.#tasks.length < TASKS) {
      const burst = Math.min(this.#rng.integer(1, 400), TASKS - this.#tasks.length);
      for (let index = 0; index < burst; index++) this.#submit();
      await this.#step();
    }
    for (let steps = 0; this.#limit.activeCount > 0 && this.#broken.length === 0; steps++) {
      if (steps > TASKS * 10) throw new Error(`${this.#limit.activeCount} tasks never ended`);
      await this.#step();
    }
    await nextTurn();
    this.#checkEnd();
  }

  async #step(): Promise<void> {
    if (this.#rng.chance(0.2)) {
      this.#limit.concurrency = this.#allowed = this.#rng.integer(1, 40);
      this.#checkLimit();
    }
    for (let count = this.#rng.integer(0, 3); count > 0; count--) this.#abortOne();
    vi.advanceTimersByTime(4);
    await nextTurn();
  }

  #submit(): void {
    const controller = this.#rng.chance(0.2) ? new AbortController() : undefined;
    const priority = this.#rng.chance(0.5) ? 5 : this.#rng.integer(0, 10);
    const task: Task = {
      priority,
      submitted: this.#tasks.length,
      controller,
      starts: 0,
      settled: undefined,
      waiting: this.#limit.activeCount >= this.#allowed,
    };
    this.#tasks.push(task);
    if (task.waiting) this.#waiting[priority]?.add(task);
    if (controller) this.#abortable.add(task);
    this.#limit
      .run(() => this.#start(task), { priority, signal: controller?.signal })
      .then(
        () => this.#settle(task, 'value'),
        (error: unknown) => {
          if (!isAbortError(error)) throw error;
          this.#settle(task, 'abort');
        },
      )
      .catch((error: unknown) => this.#broken.push(error));
    this.#checkLimit();
  }

  async #start(task: Task): Promise<void> {
    if (++task.starts > 1) throw new Error(`task ${task.submitted} ran twice`);
    if (task.controller?.signal.aborted) throw new Error(`task ${task.submitted} started after its abort`);
    this.#running++;
    this.#checkLimit();
    if (task.waiting) this.#leaveQueue(task, true);
    if (this.#rng.chance(0.1)) {
      await new Promise((resolve) => setTimeout(resolve, this.#rng.integer(1, 6)));
    } else await undefined;
    this.#running--;
  }

  /** A lowered limit lets running tasks finish, but as long as too many run their number only falls. */
  #checkLimit(): void {
    const { activeCount } = this.#limit;
    if (this.#running > activeCount) throw new Error('more tasks run than are counted');
    if (activeCount > Math.max(this.#allowed, this.#taken)) {
      throw new Error(`${activeCount} slots are taken of ${this.#allowed}`);
    }
    this.#taken = activeCount;
  }

  /** Checks that no task of a larger priority waits, and none of the same priority has waited longer. */
  #leaveQueue(task: Task, started: boolean): void {
    if (started) {
      // No task leaves the queue while too many run, even if the limit was lowered after they started.
      if (this.#limit.activeCount > this.#allowed) throw new Error(`task ${task.submitted} came too early`);
      const [first] = this.#waiting[task.priority] ?? [];
      if (first !== task) throw new Error(`task ${task.submitted} overtook task ${first?.submitted}`);
      for (let larger = task.priority + 1; larger <= 10; larger++) {
        if (this.#waiting[larger]?.size)
          throw new Error(`task ${task.submitted} overtook priority ${larger}`);
      }
    }
    this.#waiting[task.priority]?.delete(task);
    task.waiting = false;
  }

  #abortOne(): void {
    const [task] = this.#abortable;
    if (!task) return;
    this.#abortable.delete(task);
    task.controller?.abort();
    if (task.waiting) this.#leaveQueue(task, false);
  }

  #settle(task: Task, how: 'value' | 'abort'): void {
    if (task.settled) throw new Error(`task ${task.submitted} settled twice`);
    task.settled = how;
    this.#abortable.delete(task);
    this.#checkLimit();
  }

  #checkEnd(): void {
    expect(this.#broken).toEqual([]);
    // Plain comparisons: a million calls of expect would take longer than the million tasks.
    for (const task of this.#tasks) {
      if (!task.settled) throw new Error(`task ${task.submitted} was lost`);
      if (task.settled === 'value' && task.starts !== 1) throw new Error(`task ${task.submitted} never ran`);
      if (task.controller && getEventListeners(task.controller.signal, 'abort').length > 0) {
        throw new Error(`a listener was left on the signal of task ${task.submitted}`);
      }
    }
    expect(this.#running).toBe(0);
    expect(this.#limit.pendingCount).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  }
}

it(`async-utils SC-003: ${TASKS} tasks with random aborts, priorities and limit changes, ${SEEDS} seeds within ${WITHIN_MS} ms`, {
  timeout: 60_000,
}, async () => {
  const startedAt = realNow();
  await fc.assert(
    fc.asyncProperty(fc.integer(), (seed) => new Scenario(seed).run()),
    { numRuns: SEEDS, endOnFailure: true },
  );
  expect(realNow() - startedAt).toBeLessThan(WITHIN_MS);
});
