import type { Logger } from '@millrace/foundation';
import { type Database, Notifier, notificationChannel } from '@millrace/postgres';

/** What instances tell each other. */
export type Hint =
  | { readonly kind: 'work'; readonly dag: string }
  | { readonly kind: 'aborted'; readonly batchId: string }
  /** A DAG was applied as data. */
  | { readonly kind: 'applied' };

const ABORTED = 'aborted:';

/** How an applied DAG is announced. No DAG has a slash in its name: whoever does not know this takes it for work that is not theirs. */
export const APPLIED = '/applied';

/** The channel of an outbox' hints. */
export const channelOf = (schema: string): string => notificationChannel('outbox', schema);

/** Hints between the instances of an outbox: there may be work, a batch was aborted, a DAG was applied. */
export class WakeUps {
  readonly #notifier: Notifier;
  readonly #listeners = new Set<(hint: Hint) => void>();

  /** @param logger - told when one could not be sent. */
  constructor(database: Database, channel: string, logger: Logger) {
    this.#notifier = new Notifier(database, channel, logger);
  }

  /** Listens to the other instances. */
  start(): void {
    this.#notifier.start((text) => this.here(hintOf(text)));
  }

  /** Ends the listening, and waits for what is being sent. */
  stop(): Promise<void> {
    return this.#notifier.stop();
  }

  /**
   * Hears hints, of this instance and of others.
   * @param listener - must not throw.
   * @returns a function that ends it.
   */
  on(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells this instance. */
  here(hint: Hint): void {
    for (const listener of this.#listeners) listener(hint);
  }

  /** Tells the other instances, soon. */
  others(hint: Exclude<Hint, { readonly kind: 'applied' }>): void {
    this.#notifier.send(hint.kind === 'work' ? hint.dag : `${ABORTED}${hint.batchId}`);
  }
}

function hintOf(text: string): Hint {
  if (text === APPLIED) return { kind: 'applied' };
  return text.startsWith(ABORTED)
    ? { kind: 'aborted', batchId: text.slice(ABORTED.length) }
    : { kind: 'work', dag: text };
}
