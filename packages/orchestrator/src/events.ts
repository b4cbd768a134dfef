import type { Operation } from './model.js';
import type { OpId } from './op-id.js';

/** The loop that continued or ended a stalled operation. */
export type Repairer = 'finalizer' | 'reaper' | 'runner' | 'watcher';

/** The events of an orchestrator in this process. */
export interface OrchestratorEventMap {
  /** A command was submitted. */
  readonly submitted: { readonly route: string };
  /** A command was rejected with this code. */
  readonly refused: { readonly route: string; readonly code: string };
  /** A new operation was stored. */
  readonly accepted: { readonly route: string; readonly opId: OpId; readonly tenant: string };
  /** A command was answered with its outcome. */
  readonly fast: { readonly route: string; readonly opId: OpId; readonly elapsedMs: number };
  /** A command was answered with a status URL. */
  readonly converted: { readonly route: string; readonly opId: OpId; readonly elapsedMs: number };
  /** This instance ended an operation. */
  readonly ended: { readonly operation: Operation };
  /** A stalled operation continues or ended. */
  readonly repaired: { readonly by: Repairer; readonly opId: OpId; readonly became: string };
}

/** Calls listeners for each event. Ignores the errors of listeners. */
export class OrchestratorEvents {
  readonly #listeners = new Map<string, Set<(event: never) => void>>();

  /** Adds a listener. Returns a function that removes it. */
  on<K extends keyof OrchestratorEventMap>(
    name: K,
    listener: (event: OrchestratorEventMap[K]) => void,
  ): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Calls all listeners of an event. */
  emit<K extends keyof OrchestratorEventMap>(name: K, event: OrchestratorEventMap[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        (listener as (event: OrchestratorEventMap[K]) => void)(event);
      } catch {
        // A listener must not break the code that it observes.
      }
    }
  }
}
