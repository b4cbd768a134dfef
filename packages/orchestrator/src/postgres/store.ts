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

/** What a PostgreSQL store works with. */
export interface PostgresOperationStoreOptions {
  /** A server or an embedded one; started and stopped by whoever made it. */
  readonly database: Database;
  /** The schema of its tables (`millrace`); see `migrateOrchestrator`. */
  readonly schema?: string | undefined;
  readonly logger?: Logger | undefined;
  /** For the longest waits of callers; times of operations come from PostgreSQL. */
  readonly clock?: Clock | undefined;
}

/** The options with every default filled in. */
interface ResolvedPostgresOperationStoreOptions {
  readonly database: Database;
  readonly schema: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** What a PostgreSQL store does unless told otherwise. */
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

/** Keeps operations in PostgreSQL, on a server or embedded. Any number of instances may work on the same tables. */
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
   * Checks the tables and begins to hear notices. The database is not started: whoever made it does that.
   * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER`, `BACKEND_UNAVAILABLE`, `SERVICE_STOPPED`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Waits for what is on its way, and hears no more notices. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }
}
