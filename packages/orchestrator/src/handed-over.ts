import type { Envelope } from './model.js';
import type { OpId } from './op-id.js';
import type { Outcome } from './outcome.js';
import { RecentMap } from './recent-map.js';

/** What a route is told of an operation besides its command. */
export type HandOverContext = Pick<Envelope, 'opId' | 'tenant' | 'traceparent'>;

/** Told of the end of work behind an operation. */
export type EndListener = (opId: OpId, outcome: Outcome) => void;

/** How many operations are remembered; the ends of those forgotten are found by looking. */
const REMEMBERED_MAX = 10_000;

/**
 * Operations that this process has handed over, and who wants to hear of their ends. Ends of all other work are passed over: whoever may use
 * the other part directly, of any tenant, must not end an operation by giving work the name of one.
 */
export class HandedOver {
  readonly #refs = new RecentMap<OpId, string>(REMEMBERED_MAX);
  readonly #listeners = new Set<EndListener>();
  readonly #subscribe: () => () => void;
  #unsubscribe: (() => void) | undefined;

  /** @param subscribe - begins to listen to the other part; gives a function that ends it. Called while somebody wants to hear of ends. */
  constructor(subscribe: () => () => void) {
    this.#subscribe = subscribe;
  }

  /** Remembers an operation; before it is handed over, since its work may end before the answer is here. */
  remember(opId: OpId, ref: string): void {
    if (this.#listeners.size > 0) this.#refs.set(opId, ref);
  }

  /** It was not handed over. */
  forget(opId: OpId): void {
    this.#refs.delete(opId);
  }

  /** The operation behind which some work stands; it is forgotten with that. */
  take(opId: string, ref: string): OpId | undefined {
    const known = opId as OpId;
    if (this.#refs.get(known) !== ref) return undefined;
    this.#refs.delete(known);
    return known;
  }

  /**
   * Listens to ends.
   * @returns a function that ends it.
   */
  listen(listener: EndListener): () => void {
    this.#listeners.add(listener);
    this.#unsubscribe ??= this.#subscribe();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
      this.#refs.clear();
    };
  }

  /** Tells everybody who listens. */
  tell(opId: OpId, outcome: Outcome): void {
    for (const listener of [...this.#listeners]) listener(opId, outcome);
  }
}
