import {
  type Clock,
  Lifecycle,
  type Logger,
  type OptionSpec,
  objectOption,
  resolveOptions,
  silentLogger,
  systemClock,
  textOption,
} from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import type { Notices, OperationStore, Repairs, Runs, Views } from '../ports.js';
import { DEFAULT_SCHEMA, requireOrchestratorMigrated } from './migrate.js';
import { PostgresNotices } from './notices.js';
import { PostgresRepairs } from './repairs.js';
import { PostgresRuns } from './runs.js';
import { StatementCalls, Statements } from './statement-calls.js';
import { PostgresViews } from './views.js';

/** Options of a PostgreSQL store. `database` is required. */
export interface PostgresOperationStoreOptions {
  /** A server or an embedded database. Its owner starts and stops it. */
  readonly database: Database;
  /** Schema of the tables (`millrace`). `migrateOrchestrator` makes them. */
  readonly schema?: string | undefined;
  readonly logger?: Logger | undefined;
  /** Clock that limits the waits of callers (the machine's). Times of operations come from PostgreSQL. */
  readonly clock?: Clock | undefined;
}

/** The complete options of a PostgreSQL store. */
interface ResolvedPostgresOperationStoreOptions {
  readonly database: Database;
  readonly schema: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Defaults of a PostgreSQL store. */
export const POSTGRES_OPERATION_STORE_DEFAULTS = Object.freeze({
  schema: DEFAULT_SCHEMA,
  logger: silentLogger,
  clock: systemClock,
});

const SPEC: OptionSpec<ResolvedPostgresOperationStoreOptions> = {
  owner: 'PostgresOperationStore',
  defaults: POSTGRES_OPERATION_STORE_DEFAULTS,
  rules: {
    database: objectOption('a Database', 'query', 'transaction', 'listen'),
    schema: textOption({ min: 1, max: 63 }),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error'),
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
  },
  relations: [
    { option: 'database', expected: 'a Database', holds: ({ database }) => database !== undefined },
  ],
};

/** Stores operations in PostgreSQL, on a server or embedded. Any number of instances can share the tables. */
export class PostgresOperationStore implements OperationStore {
  readonly runs: Runs;
  readonly repairs: Repairs;
  readonly views: Views;
  readonly notices: Notices;
  readonly #lifecycle: Lifecycle;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `IDENTIFIER_INVALID`. */
  constructor(options: PostgresOperationStoreOptions) {
    const { database, schema, logger, clock } = resolveOptions(SPEC, options);
    const calls = new StatementCalls(database, new Statements(schema));
    const runs = new PostgresRuns(calls, clock);
    const notices = new PostgresNotices(database, schema, logger);
    this.runs = runs;
    this.repairs = new PostgresRepairs(calls);
    this.views = new PostgresViews(calls);
    this.notices = notices;
    this.#lifecycle = new Lifecycle('PostgresOperationStore', {
      start: async () => {
        await requireOrchestratorMigrated(database, { schema });
        notices.start();
      },
      stop: async () => {
        await runs.drain();
        await notices.stop();
      },
    });
  }

  /**
   * Checks the tables and starts to listen for notices. Does not start the database, which its owner does.
   * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER`, `BACKEND_UNAVAILABLE`, `SERVICE_STOPPED`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Waits for calls in progress and stops to listen for notices. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }
}
