import { type Linked, LinkedList } from '@millrace/foundation';

/**
 * The tasks that may run next: of each key at most one task is ready or active, the others wait behind it.
 *
 * ```
 *   add ──lane free──▶ ready ──take──▶ active ──release──▶ gone, and the lane's next becomes ready
 *    └───lane taken──▶ waiting ──▲
 * ```
 * A lane whose task has ended goes to the back of the ready ones, so a busy key cannot keep the others from running.
 * Reads no clock and starts nothing. A lane without tasks takes no memory.
 */
export class Lanes<T extends { readonly key: string } & Linked<T>> {
  /** The tasks behind the ready or active one of a key. A key with neither has no entry. */
  readonly #lanes = new Map<string, LinkedList<T>>();
  /** The ready or active task of each key. */
  readonly #heads = new Map<string, T>();
  readonly #ready = new LinkedList<T>();
  readonly #places = new Map<T, 'ready' | 'waiting' | 'active'>();
  #activeCount = 0;

  /** Lanes that have a task. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Tasks that could start if a slot were free. */
  get readyCount(): number {
    return this.#ready.size;
  }

  /** Tasks that have been taken and not released. */
  get activeCount(): number {
    return this.#activeCount;
  }

  /** Tasks that have not been taken: ready ones and those behind another of their key. */
  get queuedCount(): number {
    return this.#places.size - this.#activeCount;
  }

  /** Reports whether a task of this key would be ready at once. */
  isFree(key: string): boolean {
    return !this.#lanes.has(key);
  }

  /** Appends a task that is in no lane to its lane. */
  add(task: T): void {
    const behind = this.#lanes.get(task.key);
    if (behind) {
      behind.push(task);
      this.#places.set(task, 'waiting');
    } else {
      this.#lanes.set(task.key, new LinkedList());
      this.#makeReady(task);
    }
  }

  /** Takes the task that has been ready longest; its lane is busy until `release`. */
  take(): T | undefined {
    const task = this.#ready.shift();
    if (!task) return undefined;
    this.#places.set(task, 'active');
    this.#activeCount++;
    return task;
  }

  /** Takes out a task that has not been taken. */
  remove(task: T): void {
    const place = this.#places.get(task);
    if (place === undefined || place === 'active') return;
    this.#places.delete(task);
    if (place === 'waiting') {
      this.#lanes.get(task.key)?.remove(task);
    } else {
      this.#ready.remove(task);
      this.#advance(task.key);
    }
  }

  /** Ends a task that `take` returned. The next of its lane becomes ready. */
  release(task: T): void {
    if (this.#places.get(task) !== 'active') return;
    this.#places.delete(task);
    this.#activeCount--;
    this.#advance(task.key);
  }

  /** The tasks of a lane, in the order in which they run. */
  *of(key: string): IterableIterator<T> {
    const head = this.#heads.get(key);
    if (head) yield head;
    yield* this.#lanes.get(key) ?? [];
  }

  /** Every task in a lane, in no particular order. */
  tasks(): IterableIterator<T> {
    return this.#places.keys();
  }

  #advance(key: string): void {
    const next = this.#lanes.get(key)?.shift();
    if (next) {
      this.#makeReady(next);
      return;
    }
    this.#lanes.delete(key);
    this.#heads.delete(key);
  }

  #makeReady(task: T): void {
    this.#heads.set(task.key, task);
    this.#ready.push(task);
    this.#places.set(task, 'ready');
  }
}

/** The state of the lanes when a task is submitted. */
export interface Occupancy {
  /** Maximum number of waiting tasks. 0 means no limit. */
  readonly queueMaxSize: number;
  /** Workers without a task. */
  readonly freeSlots: number;
  /** Tasks whose lane is free and that have not started. */
  readonly ready: number;
  /** All tasks that have not started. */
  readonly queued: number;
  /** True if the new task's lane is free. */
  readonly laneFree: boolean;
}

/**
 * Reports whether one more task fits. A task that an idle worker takes at once does not wait and uses no place in the
 * queue: otherwise a queue of one would reject a burst of two although two workers are idle.
 */
export function hasRoom({ queueMaxSize, freeSlots, ready, queued, laneFree }: Occupancy): boolean {
  if (queueMaxSize === 0) return true;
  if (laneFree && ready < freeSlots) return true;
  return queued - Math.min(ready, freeSlots) < queueMaxSize;
}
