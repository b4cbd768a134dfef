import type { Logger } from '@millrace/foundation';
import { type Database, Notifier, notificationChannel } from '@millrace/postgres';
import { OpId } from '../op-id.js';
import type { Notices } from '../ports.js';

/** Notices between instances by NOTIFY. */
export class PostgresNotices implements Notices {
  readonly #notifier: Notifier;
  readonly #logger: Logger;
  readonly #listeners = new Set<(opId: OpId) => void>();

  /** @param logger - logs notices that could not be sent. */
  constructor(database: Database, schema: string, logger: Logger) {
    this.#notifier = new Notifier(database, notificationChannel('orchestrator', schema), logger);
    this.#logger = logger;
  }

  /** Starts to listen. */
  start(): void {
    this.#notifier.start((hint) => this.#hear(hint));
  }

  /** Stops to listen. */
  stop(): Promise<void> {
    return this.#notifier.stop();
  }

  tell(opId: OpId): void {
    this.#notifier.send(opId);
  }

  hear(listener: (opId: OpId) => void): () => void {
    // A function of its own for each call, because one listener may be given twice.
    const own = (opId: OpId) => listener(opId);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #hear(hint: string): void {
    let opId: OpId;
    try {
      opId = OpId.of(hint);
    } catch {
      this.#logger.debug({ hint }, 'Notice without an operation ignored');
      return;
    }
    for (const listener of [...this.#listeners]) listener(opId);
  }
}
