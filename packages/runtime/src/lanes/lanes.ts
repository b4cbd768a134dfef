import { type Link, LinkedList } from './linked-list.js';

type Place<T> = { readonly at: 'ready' | 'waiting'; readonly link: Link<T> } | { readonly at: 'active' };

const ACTIVE: Place<never> = { at: 'active' };

/**
 * Who may run next: of each key at most one task is ready or active, the others wait behind it.
 *
 * ```
 *   add ──lane free──▶ ready ──take──▶ active ──release──▶ gone, and the lane's next becomes ready
 *    └───lane taken──▶ waiting ──▲
 * ```
 * A lane whose task has ended goes to the back of the ready ones, so a busy key cannot keep the others from running.
 * Knows no clock and starts nothing; a lane without tasks is forgotten.
 */
export class Lanes<T extends { readonly key: string }> {
  /** What waits behind the ready or active task of a key. A key with neither has no entry. */
  readonly #lanes = new Map<string, LinkedList<T>>();
  /** The ready or active task of each key. */
  readonly #heads = new Map<string, T>();
  readonly #ready = new LinkedList<T>();
  readonly #places = new Map<T, Place<T>>();
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

  /** Whether a task of this key would be ready at once. */
  isFree(key: string): boolean {
    return !this.#lanes.has(key);
  }

  /**
   * Appends a task to its lane.
   * @param task - must not be in a lane yet.
   */
  add(task: T): void {
    const behind = this.#lanes.get(task.key);
    if (behind) {
      this.#places.set(task, { at: 'waiting', link: behind.push(task) });
    } else {
      this.#lanes.set(task.key, new LinkedList());
      this.#makeReady(task);
    }
  }

  /** Takes the task that has been ready longest; its lane is busy until `release`. */
  take(): T | undefined {
    const task = this.#ready.shift();
    if (!task) return undefined;
    this.#places.set(task, ACTIVE);
    this.#activeCount++;
    return task;
  }

  /** Takes out a task that has not been taken. */
  remove(task: T): void {
    const place = this.#places.get(task);
    if (place === undefined || place.at === 'active') return;
    this.#places.delete(task);
    if (place.at === 'waiting') {
      this.#lanes.get(task.key)?.remove(place.link);
    } else {
      this.#ready.remove(place.link);
      this.#advance(task.key);
    }
  }

  /**
   * Ends an active task: its lane goes on.
   * @param task - one that `take` gave.
   */
  release(task: T): void {
    if (this.#places.get(task) !== ACTIVE) return;
    this.#places.delete(task);
    this.#activeCount--;
    this.#advance(task.key);
  }

  /** The tasks of a lane, in the order in which they run. */
  *of(key: string): IterableIterator<T> {
    const head = this.#heads.get(key);
    if (head) yield head;
    yield* this.#lanes.get(key)?.values() ?? [];
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
    this.#places.set(task, { at: 'ready', link: this.#ready.push(task) });
  }
}
