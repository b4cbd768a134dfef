import { type Database, PgliteDatabase } from '@millrace/postgres';
import { ERRORS } from '../errors.js';
import { migrateOutbox, requireOutboxMigrated } from '../migrate.js';
import { Outbox } from '../outbox.js';
import { quoted } from '../rules/names.js';
import { dagInvalid } from '../rules/validate-dag.js';
import type { FoundTask } from './discovery.js';
import { type CheckedModuleOptions, databaseOf } from './options.js';

/** Holds the outbox of an application and its database, and starts and stops them. */
export class OutboxHost {
  readonly outbox: Outbox;
  readonly database: Database;
  readonly #isOwn: boolean;

  /**
   * Makes an outbox without starting it or opening a connection.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `DAG_INVALID`, `BATCH_TOO_LARGE`.
   */
  constructor(options: CheckedModuleOptions) {
    const { database, isOwn } = databaseOf(options.database, options.outbox);
    this.database = database;
    this.#isOwn = isOwn;
    this.outbox = new Outbox({ ...options.outbox, database, dags: options.dags });
  }

  /**
   * Binds the methods of providers to their tasks.
   * @throws MillraceError `DAG_INVALID`; the message names the methods.
   */
  bind(found: readonly FoundTask[]): void {
    const { registry } = this.outbox;
    const origins = new Map<string, string>();
    for (const { dag, key, run, origin } of found) {
      if (!registry.names.includes(dag))
        throw dagInvalid(
          dag,
          `${origin} is for its task ${quoted(key)}, but no module brings it; give it to OutboxModule.forRoot({ dags }) or forFeature([dag])`,
        );
      const task = JSON.stringify([dag, key]);
      const other = origins.get(task);
      if (other !== undefined)
        throw dagInvalid(
          dag,
          `task ${quoted(key)} has two handlers, ${other} and ${origin}; leave one of them out`,
        );
      origins.set(task, origin);
      try {
        registry.bind(dag, key, run);
      } catch (error) {
        throw ERRORS.is(error, 'DAG_INVALID')
          ? dagInvalid(dag, `${error.details.reason} (${origin})`)
          : error;
      }
    }
  }

  /**
   * Creates the tables of an embedded database, or checks those of a server, and stores the DAGs. Batches can be started then.
   * @throws MillraceError `SCHEMA_OUTDATED` and others of a schema, `DAG_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async prepare(): Promise<void> {
    const { options, registry } = this.outbox;
    const { schema } = options;
    const { database } = this;
    if (this.#isOwn) await database.start();
    if (database.kind === 'pglite') {
      // An application that passes a database knows its kind.
      options.logger[this.#isOwn ? 'warn' : 'info']({}, embeddedNotice(database));
      // No other process can have it open, so no command could migrate it.
      await migrateOutbox(database, { schema });
    } else await requireOutboxMigrated(database, { schema });
    await registry.save();
  }

  /** Starts to run tasks. */
  async start(): Promise<void> {
    await this.outbox.start();
  }

  /** Claims no more tasks, lets running ones finish within the grace period, then releases the rest. Starting and watching batches still works. */
  async drain(): Promise<void> {
    await this.outbox.stop();
  }

  /** Stops everything, even if the database does not respond. */
  async close(): Promise<void> {
    await this.drain();
    if (this.#isOwn) await this.database.stop();
  }
}

/** Returns what an embedded database does not survive, and how it limits the outbox. */
export function embeddedNotice(database: Database): string {
  const inMemory = database instanceof PgliteDatabase && database.options.dataDir === undefined;
  const lost = inMemory
    ? 'its data is in memory and ends with this process'
    : 'PGlite does not fsync, so a crash of the machine may lose what was acknowledged';
  return `The outbox runs on an embedded database: ${lost}; it has one session, so transactional handlers run one at a time and everybody else waits for them; no other process can use it. For more, give it a PostgreSQL ({ url })`;
}
