import { Lifecycle } from '@millrace/foundation';
import { ChannelHandlers } from '../channel-handlers.js';
import type { Database, QueryResult, Row, SingleQueryOptions, TransactionOptions, Tx } from '../database.js';
import { resultOf, type SessionResult, type TransactionHost } from '../driver.js';
import { ERRORS } from '../errors.js';
import { endsConnection, stoppedError, toDatabaseError } from '../failure.js';
import { settleOutcome } from '../outcome.js';
import { runTransaction } from '../transaction.js';
import { encodeParameters, quoteIdentifier, type SqlParameter } from '../values.js';
import { Connections } from './connections.js';
import { Listener } from './listener.js';
import {
  type PgDatabaseOptions,
  type ResolvedPgDatabaseOptions,
  resolvePgDatabaseOptions,
} from './options.js';

const OLDEST_VERSION = 140_000;

/**
 * A PostgreSQL server (14 or later) behind a pool that reconnects. Every call has a deadline here and on the server, a lost or silent connection is
 * destroyed, and the outcome of a COMMIT whose reply was lost is looked up.
 *
 * `start` waits until PostgreSQL answers, and may be called again after a failure: `BACKEND_UNAVAILABLE` after `callTimeoutMs`,
 * `DATABASE_VERSION_UNSUPPORTED`, `DRIVER_MISSING`, `SERVICE_STOPPED`, or PostgreSQL's error about the user, the password or the database.
 */
export class PgDatabase extends Lifecycle implements Database {
  readonly kind = 'postgres';
  readonly poolSize: number;
  readonly options: ResolvedPgDatabaseOptions;
  readonly #connections: Connections;
  readonly #handlers: ChannelHandlers;
  readonly #listener: Listener;
  readonly #host: TransactionHost;
  #stopping: Promise<void> | undefined;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `IDENTIFIER_INVALID`. */
  constructor(options: PgDatabaseOptions) {
    super('The database', { start: () => this.#requireVersion(), stop: () => {} });
    this.options = resolvePgDatabaseOptions(options);
    const { clock, schema, poolSize, callTimeoutMs, logger } = this.options;
    if (schema !== undefined) quoteIdentifier(schema);
    this.poolSize = poolSize;
    this.#connections = new Connections(this.options);
    this.#handlers = new ChannelHandlers(logger, (sql) => this.#listener.change(sql));
    this.#listener = new Listener(this.options, this.#handlers);
    this.#host = {
      ...this.options,
      limitsServer: true,
      acquire: (deadline, signal) => this.#connections.acquire(deadline, signal),
      settle: (xid) => settleOutcome(this, xid, clock, callTimeoutMs),
    };
  }

  /** Closes every connection at once, also if PostgreSQL is frozen. Calls and transactions under way fail. */
  override stop(): Promise<void> {
    // Not a step of the lifecycle: calls connect without a start, and stop must not wait for a start under way.
    this.#listener.stop();
    this.#stopping ??= this.#connections.stop().then(() => super.stop());
    return this.#stopping;
  }

  /**
   * Runs one statement on any free connection. After `BACKEND_UNAVAILABLE` it may have run; a `repeatable` one may have run more than once.
   */
  async query<R extends object = Row>(
    sql: string,
    params: readonly SqlParameter[] = [],
    options: SingleQueryOptions = {},
  ): Promise<QueryResult<R>> {
    const { clock, callTimeoutMs } = this.options;
    const { timeoutMs = callTimeoutMs, signal, repeatable = false } = options;
    const values = encodeParameters(params);
    const deadline = clock.monotonicMs() + timeoutMs;
    for (;;) {
      try {
        return resultOf(await this.#attempt(sql, values, options, deadline));
      } catch (error) {
        if (this.#stopping) throw stoppedError();
        const again =
          repeatable && !signal?.aborted && endsConnection(error) && clock.monotonicMs() < deadline;
        if (!again) throw toDatabaseError(error, 'a query', signal);
      }
    }
  }

  /** Runs a function in a transaction; see {@link Database}. */
  async transaction<T>(fn: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return runTransaction(this.#host, fn, options);
  }

  /** Listens to NOTIFY on one connection of its own; see {@link Database}. */
  listen(channel: string, handler: (payload: string) => void): () => void {
    return this.#handlers.listen(channel, handler);
  }

  async #attempt(
    sql: string,
    values: readonly (string | null)[],
    { signal, name }: SingleQueryOptions,
    deadline: number,
  ): Promise<SessionResult> {
    const { clock, callTimeoutMs } = this.options;
    const session = await this.#connections.acquire(deadline, signal);
    const leftMs = () => deadline - clock.monotonicMs();
    // The server's own limit is callTimeoutMs. A connection with another limit must not reach the next caller.
    const isLong = leftMs() > callTimeoutMs;
    try {
      if (isLong) {
        const limit = String(Math.ceil(leftMs()));
        const sql = "SELECT set_config('statement_timeout', $1, false)";
        await session.run(sql, [limit], { timeoutMs: leftMs() });
      }
      return await session.run(sql, values, { timeoutMs: leftMs(), signal, name });
    } finally {
      if (isLong) session.discard();
      else session.release();
    }
  }

  async #requireVersion(): Promise<void> {
    const sql = "SELECT current_setting('server_version_num')::int AS version";
    const { rows } = await this.query<{ version: number }>(sql, [], { repeatable: true });
    const version = rows[0]?.version ?? 0;
    if (version < OLDEST_VERSION)
      throw ERRORS.create('DATABASE_VERSION_UNSUPPORTED', { found: version / 10_000 });
  }
}
