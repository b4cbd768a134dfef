import type { OpId } from '../op-id.js';
import type { Notices } from '../ports.js';

/** Notices between the runners of one process. */
export class MemoryNotices implements Notices {
  readonly #listeners = new Set<(opId: OpId) => void>();

  tell(opId: OpId): void {
    // Not at once: whoever tells is in the middle of something.
    queueMicrotask(() => {
      for (const listener of [...this.#listeners]) listener(opId);
    });
  }

  hear(listener: (opId: OpId) => void): () => void {
    // A wrapper of its own for every call: the same function may listen twice.
    const own = (opId: OpId) => listener(opId);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}
