import type { Logger } from '@millrace/foundation';
import { type Database, Notifier, notificationChannel } from '@millrace/postgres';
import { OpId } from '../op-id.js';
import type { Notices } from '../ports.js';

/** Notices between instances, by NOTIFY. */
export class PostgresNotices implements Notices {
  readonly #notifier: Notifier;
  readonly #logger: Logger;
  readonly #listeners = new Set<(opId: OpId) => void>();

  /** @param logger - told when one could not be sent. */
  constructor(database: Database, schema: string, logger: Logger) {
    this.#notifier = new Notifier(database, notificationChannel('orchestrator', schema), logger);
    this.#logger = logger;
  }

  /** Begins to hear. */
  start(): void {
    this.#notifier.start((hint) => this.#hear(hint));
  }

  /** Ends the hearing. */
  stop(): Promise<void> {
    return this.#notifier.stop();
  }

  tell(opId: OpId): void {
    this.#notifier.send(opId);
  }

  hear(listener: (opId: OpId) => void): () => void {
    // A wrapper of its own for every call: the same function may listen twice.
    const own = (opId: OpId) => listener(opId);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #hear(hint: string): void {
    let opId: OpId;
    try {
      opId = OpId.of(hint);
    } catch {
      this.#logger.debug({ hint }, 'A notice that names no operation was passed over');
      return;
    }
    for (const listener of [...this.#listeners]) listener(opId);
  }
}
