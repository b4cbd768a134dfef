import type { Logger } from '@millrace/foundation';
import { type Database, Notifier, notificationChannel } from '@millrace/postgres';

/** A notification between instances. */
export type Hint =
  | { readonly kind: 'work'; readonly dag: string }
  | { readonly kind: 'aborted'; readonly batchId: string }
  /** A DAG was applied as data. */
  | { readonly kind: 'applied' };

const ABORTED = 'aborted:';

/** Announces an applied DAG. No DAG has a slash in its name, so earlier releases ignore this as work of an unknown DAG. */
export const APPLIED = '/applied';

/** Returns the notification channel of an outbox. */
export const channelOf = (schema: string): string => notificationChannel('outbox', schema);

/** Sends hints between the instances of an outbox: there may be work, a batch was aborted, a DAG was applied. */
export class WakeUps {
  readonly #notifier: Notifier;
  readonly #listeners = new Set<(hint: Hint) => void>();

  constructor(database: Database, channel: string, logger: Logger) {
    this.#notifier = new Notifier(database, channel, logger);
  }

  /** Starts to receive hints of other instances. */
  start(): void {
    this.#notifier.start((text) => this.here(hintOf(text)));
  }

  /** Stops, and waits for hints that are being sent. */
  stop(): Promise<void> {
    return this.#notifier.stop();
  }

  /**
   * Subscribes to the hints of all instances.
   * @param listener - must not throw.
   * @returns a function that unsubscribes.
   */
  on(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies this instance. */
  here(hint: Hint): void {
    for (const listener of this.#listeners) listener(hint);
  }

  /** Notifies the other instances soon. */
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
