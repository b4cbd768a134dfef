import type { Service } from '@millrace/foundation';
import type { SqlParameter } from './rules/encode-parameter.js';

/** One row by column names; see the README for what each type becomes. */
export type Row = Record<string, unknown>;

/** What a statement gave. */
export interface QueryResult<R = Row> {
  readonly rows: readonly R[];
  /** Rows returned, or rows changed by an INSERT, UPDATE or DELETE. */
  readonly rowCount: number;
}

/** What one statement may ask for. */
export interface QueryOptions {
  /**
   * How long the call may take; `callTimeoutMs` unless given, in a transaction what is left of its time. In a
   * transaction the end of this time ends the transaction.
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the call; in a transaction it ends the transaction. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Prepares the statement once per connection under this name; the same name must always have the same SQL. */
  readonly name?: string | undefined;
}

/** What a statement outside a transaction may ask for. */
export interface SingleQueryOptions extends QueryOptions {
  /** The statement may run twice: it is sent again, until the deadline, when the connection is lost before its reply. */
  readonly repeatable?: boolean | undefined;
}

/** Something that runs statements: a Database or a Tx. */
export interface Queryable {
  /**
   * Runs one statement.
   * @param sql - with `$1`, `$2` … for the parameters.
   * @throws the error of PostgreSQL as it came, `code` is its SQLSTATE; MillraceError `BACKEND_UNAVAILABLE`,
   * `PARAMETER_INVALID`, `TX_CLOSED`, `TX_REENTRANT`, `SERVICE_STOPPED`.
   */
  query<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: QueryOptions,
  ): Promise<QueryResult<R>>;
}

/** What the function of a transaction works with, until the transaction ends. */
export interface Tx extends Queryable {
  /** Aborts when the transaction ends before its function does: timed out, connection lost, database stopped. */
  readonly signal: AbortSignal;
  /** What `transactionOutcome` knows the transaction by; undefined when it is read-only, or its BEGIN is still under way. */
  readonly xid: string | undefined;
  /** Runs a text of several statements without parameters, such as a migration; answers nothing. */
  script(sql: string): Promise<void>;
  /**
   * Runs a last statement and commits behind it, in one round trip; then the function returns. If the statement fails, nothing is committed.
   * @param sql - with `$1`, `$2` … for the parameters.
   * @returns its result; undefined when the replies were lost, and it was found out that the transaction has committed.
   * @throws like `query` and the COMMIT of `Database.transaction`; `TX_REENTRANT` in a part of a transaction, and
   * where somebody else commits: in handlers and listeners of an outbox.
   */
  commitWith<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: Pick<QueryOptions, 'name'>,
  ): Promise<QueryResult<R> | undefined>;
  /**
   * Runs a part that can fail by itself (a savepoint): what it throws rolls back this part only. Until it ends, the outer
   * tx refuses statements as `TX_REENTRANT`.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
}

/** How strictly a transaction is kept apart from others. */
export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable';

/** What a transaction may ask for. */
export interface TransactionOptions {
  /** `read committed` unless given. */
  readonly isolation?: IsolationLevel | undefined;
  /** Writes are refused; a lost COMMIT is then of no consequence. */
  readonly readOnly?: boolean | undefined;
  /**
   * From the call to the COMMIT, the wait for a connection included; `transactionTimeoutMs` unless given. Then the
   * connection is destroyed, its tx answers `TX_CLOSED`, and PostgreSQL ends what it still runs.
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the transaction like the timeout, until COMMIT is sent; rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How often to run the function again after a serialization failure or deadlock (40001, 40P01); 0 unless given, since
   * the function may have effects outside the database.
   */
  readonly retries?: number | undefined;
  /** Lets BEGIN travel with the first statement instead of waiting for its reply: a round trip less. */
  readonly beginWithFirst?: boolean | undefined;
}

/** PostgreSQL as Millrace uses it, on a server or embedded. Usable at once; `start` only waits until it answers. */
export interface Database extends Service, Queryable {
  readonly kind: 'postgres' | 'pglite';
  /** How many transactions can be open at the same time. */
  readonly poolSize: number;
  query<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: SingleQueryOptions,
  ): Promise<QueryResult<R>>;
  /**
   * Runs a function in a transaction: commits what it did when it returns, rolls back when it throws.
   * @param fn - may be abandoned at the timeout while it still runs; its tx is closed then.
   * @param options - isolation, deadline, signal, retries.
   * @returns what the function returned; it has been committed then, never guessed.
   * @throws what the function threw; the error of PostgreSQL; MillraceError `TX_TIMEOUT`, `BACKEND_UNAVAILABLE`,
   * `TX_ROLLED_BACK` (after all of these nothing has been committed); `COMMIT_UNKNOWN`; `TX_REENTRANT`,
   * `SERVICE_STOPPED`.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Hears what is sent by NOTIFY, from the moment the connection for it stands. A hint: what is sent while the connection
   * is away is lost, so look for work from time to time as well.
   * @param channel - any name of up to 63 bytes, exactly as `pg_notify` gets it.
   * @param handler - told the payload; what it throws is logged.
   * @returns a function that ends the listening.
   * @throws MillraceError `IDENTIFIER_INVALID`.
   */
  listen(channel: string, handler: (payload: string) => void): () => void;
}
