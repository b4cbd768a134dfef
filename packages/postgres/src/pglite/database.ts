import { AsyncLocalStorage } from 'node:async_hooks';
import { resolve } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { Lifecycle, MillraceError } from '@millrace/foundation';
import { ChannelHandlers } from '../channel-handlers.js';
import type { Database, QueryResult, Row, SingleQueryOptions, TransactionOptions, Tx } from '../database.js';
import { resultOf, type TransactionHost } from '../driver.js';
import { ERRORS } from '../errors.js';
import { reentrant, stoppedError, toDatabaseError } from '../failure.js';
import { runTransaction } from '../transaction.js';
import { encodeParameters, quoteIdentifier, type SqlParameter } from '../values.js';
import { DirectoryLock } from './lock.js';
import { newPglite, openPglite, prepareDirectory } from './open.js';
import {
  type PgliteDatabaseOptions,
  type ResolvedPgliteDatabaseOptions,
  resolvePgliteDatabaseOptions,
} from './options.js';
import { EventLoopYield, PgliteSession } from './session.js';
import { SessionQueue } from './session-queue.js';

/**
 * PostgreSQL inside this process (PGlite), in memory or in a folder: one session, no fsync. Transactions run one at a time. A call outside `tx` from
 * inside a transaction is refused, since it would wait for itself.
 *
 * `start` opens the database: `DATABASE_IN_USE`, `DATABASE_DIRECTORY_INVALID`, `DRIVER_MISSING`, `SERVICE_STOPPED`. A new one takes a second or two.
 * `stop` ends a transaction under way, closes the database and releases its folder.
 */
export class PgliteDatabase extends Lifecycle implements Database {
  readonly kind = 'pglite';
  /** One session, so one transaction at a time. */
  readonly poolSize = 1;
  readonly options: ResolvedPgliteDatabaseOptions;
  readonly #queue: SessionQueue;
  readonly #eventLoop = new EventLoopYield();
  readonly #handlers: ChannelHandlers;
  readonly #host: TransactionHost;
  /** Marks the code that runs inside a transaction. */
  readonly #inside = new AsyncLocalStorage<{ open: boolean }>();
  #pglite: PGlite | undefined;
  #lock: DirectoryLock | undefined;
  #session: PgliteSession | undefined;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `IDENTIFIER_INVALID`. */
  constructor(options: PgliteDatabaseOptions = {}) {
    super('The database', { start: () => this.#open(), stop: () => this.#close() });
    this.options = resolvePgliteDatabaseOptions(options);
    const { schema, logger } = this.options;
    if (schema !== undefined) quoteIdentifier(schema);
    this.#queue = new SessionQueue(this.options);
    this.#handlers = new ChannelHandlers(logger, (sql) => this.#runApart(sql));
    this.#host = {
      ...this.options,
      // Its timers end the only session, and PGlite then spins without end. The timeout here is enough.
      limitsServer: false,
      acquire: (deadline, signal) => this.#acquire(deadline, signal),
      // A COMMIT inside this process is always answered.
      settle: async () => undefined,
    };
  }

  /** Runs one statement when no transaction is open; see {@link Database}. */
  async query<R extends object = Row>(
    sql: string,
    params: readonly SqlParameter[] = [],
    options: SingleQueryOptions = {},
  ): Promise<QueryResult<R>> {
    this.#requireOutside('database.query');
    const values = encodeParameters(params);
    await this.start();
    const { clock, callTimeoutMs } = this.options;
    const { timeoutMs = callTimeoutMs, signal } = options;
    try {
      const session = await this.#acquire(clock.monotonicMs() + timeoutMs, signal);
      try {
        return resultOf(await session.run(sql, values, { signal }));
      } finally {
        session.release();
      }
    } catch (error) {
      throw toDatabaseError(error, 'a query', signal);
    }
  }

  /** Runs a function in a transaction, one at a time; see {@link Database}. */
  async transaction<T>(fn: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    this.#requireOutside('database.transaction');
    await this.start();
    const mark = { open: true };
    try {
      return await runTransaction(this.#host, (tx) => this.#inside.run(mark, () => fn(tx)), options);
    } finally {
      mark.open = false; // A function abandoned at its timeout is outside from now on.
    }
  }

  /** Listens to NOTIFY of this process; see {@link Database}. */
  listen(channel: string, handler: (payload: string) => void): () => void {
    return this.#handlers.listen(channel, handler);
  }

  /** Runs a statement that the caller does not wait for, also from inside a transaction. */
  #runApart(sql: string): void {
    const { logger } = this.options;
    if (this.state === 'STOPPING' || this.state === 'STOPPED') return;
    this.#inside
      .exit(() => this.query(sql))
      .catch((error: unknown) => logger.warn({ sql, reason: String(error) }, 'PGlite refused LISTEN'));
  }

  async #acquire(deadline: number, signal?: AbortSignal): Promise<PgliteSession> {
    await this.#queue.take(deadline, signal);
    const pglite = this.#pglite;
    if (!pglite) {
      this.#queue.release();
      throw stoppedError();
    }
    const session = new PgliteSession(pglite, this.#eventLoop, () => {
      this.#session = undefined;
      this.#queue.release();
    });
    this.#session = session;
    return session;
  }

  #requireOutside(call: string): void {
    if (this.#inside.getStore()?.open) throw reentrant(call, 'wait for itself', 'tx');
  }

  async #open(): Promise<void> {
    const { dataDir, schema } = this.options;
    const directory = dataDir === undefined ? undefined : resolve(dataDir);
    let pglite: PGlite | undefined;
    try {
      if (directory !== undefined) await this.#lockAndPrepare(directory);
      pglite = await (directory === undefined ? newPglite() : openPglite(directory));
      pglite.onNotification((channel, payload) => this.#handlers.call(channel, payload));
      const path = schema === undefined ? 'public' : `${quoteIdentifier(schema)}, public`;
      await pglite.query("SELECT set_config('search_path', $1, false)", [path]);
      // Channels whose own LISTEN met a start that failed.
      for (const sql of this.#handlers.statements) await pglite.query(sql);
      this.#pglite = pglite;
    } catch (error) {
      await pglite?.close();
      this.#lock?.release();
      this.#lock = undefined;
      if (error instanceof MillraceError || directory === undefined) throw error;
      const details = { directory, reason: error instanceof Error ? error.message : String(error) };
      throw ERRORS.create('DATABASE_DIRECTORY_INVALID', details, { cause: error });
    }
  }

  async #lockAndPrepare(directory: string): Promise<void> {
    this.#lock = await DirectoryLock.take(directory, this.options);
    await prepareDirectory(directory, async (unfinished) => {
      const pglite = await newPglite(unfinished);
      await pglite.close();
    });
  }

  async #close(): Promise<void> {
    const idle = this.#queue.stop();
    this.#session?.lose(stoppedError());
    await idle;
    const pglite = this.#pglite;
    this.#pglite = undefined;
    try {
      await pglite?.close();
    } finally {
      this.#lock?.release();
    }
  }
}
