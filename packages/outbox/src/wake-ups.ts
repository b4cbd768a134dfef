import type { Logger } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';

/** What instances tell each other. */
export type Hint =
  | { readonly kind: 'work'; readonly dag: string }
  | { readonly kind: 'aborted'; readonly batchId: string };

const ABORTED = 'aborted:';

/**
 * Hints between instances: there may be work, a batch was aborted. Hints may be lost; whoever gets none looks by itself after a while.
 *
 * NOTIFY makes commits wait for each other, so it is never part of a task's own transaction: it is sent afterwards, one statement for all
 * that has come together meanwhile.
 */
export class WakeUps {
  readonly #database: Database;
  readonly #channel: string;
  readonly #logger: Logger;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #unlisten: (() => void) | undefined;
  readonly #pending = new Set<string>();
  #sending: Promise<void> | undefined;

  /**
   * @param database - that carries them.
   * @param channel - of this outbox.
   * @param logger - told when one could not be sent.
   */
  constructor(database: Database, channel: string, logger: Logger) {
    this.#database = database;
    this.#channel = channel;
    this.#logger = logger;
  }

  /** Listens to the other instances. */
  start(): void {
    this.#unlisten ??= this.#database.listen(this.#channel, (payload) => this.#hear(payload));
  }

  /** Ends the listening, and waits for what is being sent. */
  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    await this.#sending;
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
  others(hint: Hint): void {
    this.#pending.add(hint.kind === 'work' ? hint.dag : `${ABORTED}${hint.batchId}`);
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const payloads = [...this.#pending];
      this.#pending.clear();
      try {
        await this.#database.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
          this.#channel,
          payloads,
        ]);
      } catch (error) {
        this.#logger.debug(
          { reason: String(error) },
          'A hint to other instances was lost; they will look by themselves',
        );
      }
    }
    this.#sending = undefined;
  }

  #hear(payload: string): void {
    this.here(
      payload.startsWith(ABORTED)
        ? { kind: 'aborted', batchId: payload.slice(ABORTED.length) }
        : { kind: 'work', dag: payload },
    );
  }
}
