import { createHash } from 'node:crypto';
import type { Logger } from '@millrace/foundation';
import type { Database } from './database.js';

/**
 * Sends notifications between instances by NOTIFY. A notification may be lost, so every instance also polls.
 *
 * NOTIFY inside a transaction makes commits wait for each other. `send` therefore runs after the transaction, with one statement for all
 * payloads that have come together meanwhile.
 */
export class Notifier {
  readonly #database: Database;
  readonly #channel: string;
  readonly #logger: Logger;
  readonly #pending = new Set<string>();
  #sending: Promise<void> | undefined;
  #unlisten: (() => void) | undefined;

  constructor(database: Database, channel: string, logger: Logger) {
    this.#database = database;
    this.#channel = channel;
    this.#logger = logger;
  }

  /**
   * Calls `listener` with every notification, those of this instance included.
   * @param listener - must not throw.
   */
  start(listener: (payload: string) => void): void {
    this.#unlisten ??= this.#database.listen(this.#channel, listener);
  }

  /** Stops listening and waits for the notifications that are being sent. */
  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    await this.#sending;
  }

  /** Sends a notification to all instances soon. Equal payloads that wait together are sent once. */
  send(payload: string): void {
    this.#pending.add(payload);
    this.#sending ??= this.#sendPending();
  }

  async #sendPending(): Promise<void> {
    while (this.#pending.size > 0) {
      const payloads = [...this.#pending];
      this.#pending.clear();
      try {
        const sql = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload';
        await this.#database.query(sql, [this.#channel, payloads]);
      } catch (error) {
        this.#logger.debug({ reason: String(error) }, 'Notification not sent; other instances will poll');
      }
    }
    this.#sending = undefined;
  }
}

/** Names the channel of a part's notifications in a schema. The name fits into 63 bytes for any schema name. */
export const notificationChannel = (part: string, schema: string): string =>
  `millrace_${part}_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
