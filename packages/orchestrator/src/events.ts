import type { Operation } from './model.js';
import type { OpId } from './op-id.js';

/** Who brought an operation on that had stopped. */
export type Repairer = 'finalizer' | 'reaper' | 'runner' | 'watcher';

/** What an orchestrator tells, in this process. */
export interface OrchestratorEventMap {
  /** A command came in. */
  readonly submitted: { readonly route: string };
  /** It was not taken: by its code. */
  readonly refused: { readonly route: string; readonly code: string };
  /** A new operation was stored. */
  readonly accepted: { readonly route: string; readonly opId: OpId; readonly tenant: string };
  /** It was answered with its outcome. */
  readonly fast: { readonly route: string; readonly opId: OpId; readonly elapsedMs: number };
  /** It was answered with a status URL. */
  readonly converted: { readonly route: string; readonly opId: OpId; readonly elapsedMs: number };
  /** An operation ended here. */
  readonly ended: { readonly operation: Operation };
  /** An operation that had stopped goes on, or ended. */
  readonly repaired: { readonly by: Repairer; readonly opId: OpId; readonly became: string };
}

/** Tells listeners what happens; a listener that throws hurts nobody. */
export class OrchestratorEvents {
  readonly #listeners = new Map<string, Set<(event: never) => void>>();

  /**
   * Listens.
   * @returns a function that ends the listening.
   */
  on<K extends keyof OrchestratorEventMap>(
    name: K,
    listener: (event: OrchestratorEventMap[K]) => void,
  ): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Tells all listeners. */
  emit<K extends keyof OrchestratorEventMap>(name: K, event: OrchestratorEventMap[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        (listener as (event: OrchestratorEventMap[K]) => void)(event);
      } catch {
        // Somebody who only listens must not break what is listened to.
      }
    }
  }
}
