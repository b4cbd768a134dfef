import type { Envelope } from './model.js';
import type { OpId } from './op-id.js';
import type { Outcome } from './outcome.js';

/** The operation that a command belongs to. */
export type HandOverContext = Pick<Envelope, 'opId' | 'tenant' | 'traceparent'>;

/** Called with the end of work behind an operation. */
export type EndListener = (opId: OpId, outcome: Outcome) => void;

/** Maximum number of remembered operations. The watcher finds the ends of forgotten ones. */
const REMEMBERED_MAX = 10_000;

/**
 * The operations that this process has handed over to another part, and the listeners to their ends. The ends of all
 * other work are ignored: a caller who uses the other part directly must not end an operation by giving work its name.
 */
export class HandedOver {
  readonly #refs = new RecentMap<OpId, string>(REMEMBERED_MAX);
  readonly #listeners = new Set<EndListener>();
  readonly #subscribe: () => () => void;
  #unsubscribe: (() => void) | undefined;

  /** @param subscribe - listens to the other part and returns a function that ends it. Called for the first listener. */
  constructor(subscribe: () => () => void) {
    this.#subscribe = subscribe;
  }

  /** Remembers an operation. Call it before the hand-over, because the work may end before the reply arrives. */
  remember(opId: OpId, ref: string): void {
    if (this.#listeners.size > 0) this.#refs.set(opId, ref);
  }

  /** Forgets an operation whose hand-over failed. */
  forget(opId: OpId): void {
    this.#refs.delete(opId);
  }

  /** Returns the operation behind which this work stands, and forgets it. */
  take(opId: string, ref: string): OpId | undefined {
    const known = opId as OpId;
    if (this.#refs.get(known) !== ref) return undefined;
    this.#refs.delete(known);
    return known;
  }

  /** Adds a listener. Returns a function that removes it. */
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

  /** Calls all listeners. */
  tell(opId: OpId, outcome: Outcome): void {
    for (const listener of [...this.#listeners]) listener(opId, outcome);
  }
}

/** A Map that drops the entry set longest ago when it has more than `entriesMax`. */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number;
  /**
   * Yields the oldest key, because all keys before its position have been dropped. A new iterator for each would walk over
   * the gaps of deleted entries: 8 µs a `set` at 10,000 entries, 0.15 µs with this one.
   */
  readonly #oldest = this.keys();

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  /** Sets an entry, which becomes the latest one. */
  override set(key: K, value: V): this {
    super.delete(key);
    super.set(key, value);
    if (this.size > this.#entriesMax) super.delete(this.#oldest.next().value as K);
    return this;
  }
}
