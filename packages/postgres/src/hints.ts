import type { Logger } from '@millrace/foundation';
import type { Database } from './database.js';

/**
 * Hints between instances, by NOTIFY. They may be lost; whoever gets none has to look by itself after a while.
 *
 * NOTIFY makes commits wait for each other, so it is never part of a transaction that does something: it is sent afterwards, one statement for
 * all that has come together meanwhile.
 */
export class Hints {
  readonly #database: Database;
  readonly #channel: string;
  readonly #logger: Logger;
  #unlisten: (() => void) | undefined;
  readonly #pending = new Set<string>();
  #sending: Promise<void> | undefined;

  /** @param logger - told when one could not be sent. */
  constructor(database: Database, channel: string, logger: Logger) {
    this.#database = database;
    this.#channel = channel;
    this.#logger = logger;
  }

  /**
   * Listens to all instances, this one too.
   * @param hear - gets each hint; must not throw.
   */
  start(hear: (hint: string) => void): void {
    this.#unlisten ??= this.#database.listen(this.#channel, hear);
  }

  /** Ends the listening, and waits for what is being sent. */
  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    await this.#sending;
  }

  /** Tells the others, soon; the same hint once. */
  send(hint: string): void {
    this.#pending.add(hint);
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const hints = [...this.#pending];
      this.#pending.clear();
      try {
        await this.#database.query('SELECT pg_notify($1, hint) FROM unnest($2::text[]) AS hint', [
          this.#channel,
          hints,
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
}
