import type { Service } from '@millrace/foundation';
import type { SqlParameter } from './values.js';

/** One row by column names. The README lists the JavaScript type of each column type. */
export type Row = Record<string, unknown>;

/** The result of a statement. */
export interface QueryResult<R = Row> {
  readonly rows: readonly R[];
  /** Number of rows returned, or changed by an INSERT, UPDATE or DELETE. */
  readonly rowCount: number;
}

/** Options of one statement. */
export interface QueryOptions {
  /** Time limit of the call (`callTimeoutMs`; in a transaction, the rest of its time). In a transaction it ends the transaction. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call, which rejects with the signal's reason. In a transaction it ends the transaction. */
  readonly signal?: AbortSignal | undefined;
  /** Prepares the statement once per connection under this name. One name must always have the same SQL. */
  readonly name?: string | undefined;
}

/** Options of a statement outside a transaction. */
export interface SingleQueryOptions extends QueryOptions {
  /** True if the statement may run twice: it is sent again, until the deadline, when the connection is lost before the reply. */
  readonly repeatable?: boolean | undefined;
}

/** Runs statements: a Database or a Tx. */
export interface Queryable {
  /**
   * Runs one statement.
   * @param sql - with `$1`, `$2` … for the parameters.
   * @throws the error of PostgreSQL unchanged, its `code` is the SQLSTATE; MillraceError `BACKEND_UNAVAILABLE`,
   * `PARAMETER_INVALID`, `TX_CLOSED`, `TX_REENTRANT`, `SERVICE_STOPPED`.
   */
  query<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: QueryOptions,
  ): Promise<QueryResult<R>>;
}

/** Runs the statements of one transaction until it ends. */
export interface Tx extends Queryable {
  /** Aborts when the transaction ends before its function does: timed out, connection lost, database stopped. */
  readonly signal: AbortSignal;
  /** Identifies the transaction for `transactionOutcome`. Undefined if it is read-only or its BEGIN is still under way. */
  readonly xid: string | undefined;
  /** Runs a text of several statements without parameters, such as a migration. */
  script(sql: string): Promise<void>;
  /**
   * Runs a last statement and commits after it, in one round trip. Nothing is committed if the statement fails.
   * @returns the statement's result; undefined if the replies were lost and the transaction turned out to be committed.
   * @throws the errors of `query` and of the COMMIT of `Database.transaction`; `TX_REENTRANT` in a part of a transaction, and in handlers and
   * listeners of an outbox, which commits them itself.
   */
  commitWith<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: Pick<QueryOptions, 'name'>,
  ): Promise<QueryResult<R> | undefined>;
  /**
   * Runs a part of the transaction as a savepoint: if it throws, only the part is rolled back. Until it ends, the outer tx refuses statements with
   * `TX_REENTRANT`.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
}

/** The isolation of a transaction from concurrent ones. */
export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable';

/** Options of a transaction. */
export interface TransactionOptions {
  /** Isolation level (`read committed`). */
  readonly isolation?: IsolationLevel | undefined;
  /** Refuses writes. A lost reply to COMMIT then changes nothing. */
  readonly readOnly?: boolean | undefined;
  /**
   * Time limit from the call to the COMMIT, the wait for a connection included (`transactionTimeoutMs`). At the limit the connection is destroyed,
   * its tx throws `TX_CLOSED`, and PostgreSQL ends what it still runs.
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the transaction like the time limit, until COMMIT is sent. It rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum retries after a serialization failure or deadlock (0). The function may have effects outside the database. */
  readonly retries?: number | undefined;
  /** Sends BEGIN with the first statement instead of waiting for its reply: one round trip less. */
  readonly beginWithFirst?: boolean | undefined;
}

/** PostgreSQL on a server or embedded. Usable at once; `start` only waits until it answers. */
export interface Database extends Service, Queryable {
  readonly kind: 'postgres' | 'pglite';
  /** Maximum number of open transactions. */
  readonly poolSize: number;
  query<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: SingleQueryOptions,
  ): Promise<QueryResult<R>>;
  /**
   * Runs a function in a transaction: commits when it returns, rolls back when it throws.
   * @param fn - abandoned at the timeout even if it still runs; its tx is closed then.
   * @returns the function's value, only after the commit is known.
   * @throws what the function threw; the error of PostgreSQL; MillraceError `TX_TIMEOUT`, `BACKEND_UNAVAILABLE`,
   * `TX_ROLLED_BACK` (after all of these nothing has been committed); `COMMIT_UNKNOWN`; `TX_REENTRANT`,
   * `SERVICE_STOPPED`.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Calls `handler` with the payload of every NOTIFY, from the moment the listening connection is open. Notifications are lost while that connection
   * is away, so poll too.
   * @param channel - any name of up to 63 bytes, exactly as `pg_notify` gets it.
   * @param handler - an exception is logged.
   * @returns a function that ends the listening.
   * @throws MillraceError `IDENTIFIER_INVALID`.
   */
  listen(channel: string, handler: (payload: string) => void): () => void;
}
