import type { Clock, Rng } from '@millrace/foundation';
import type { QueryOptions, QueryResult, Row } from './database.js';

/** The result of a statement with the command that ran. */
export interface SessionResult extends QueryResult<Row> {
  /** The first word of PostgreSQL's reply: a COMMIT of a broken transaction replies ROLLBACK. */
  readonly command: string;
}

/** Types the rows of a result as its caller expects them. */
export const resultOf = <R extends object>({ rows, rowCount }: SessionResult): QueryResult<R> => ({
  rows: rows as readonly object[] as readonly R[],
  rowCount,
});

/** A connection while one caller uses it. The caller ends the use with one call of `release` or `discard`. */
export interface Session {
  /** Identifies the life of the server, noted by the first transaction on the connection. */
  serverLife: string | undefined;
  /** Runs one statement. Statements of one session run in call order; the calls need not wait for each other. Rejects with the driver's error. */
  run(sql: string, values: readonly (string | null)[], options?: QueryOptions): Promise<SessionResult>;
  /** Runs several statements in one round trip and returns all results. */
  script(sql: string, options?: { readonly timeoutMs?: number | undefined }): Promise<SessionResult[]>;
  /** Calls `listener` once if the connection is lost in use; not after `release` or `discard`. */
  onLost(listener: (reason: unknown) => void): void;
  /** Returns the connection for the next caller. */
  release(): void;
  /** Ends whatever runs on the connection without waiting for a reply. */
  discard(): void;
}

/** The services that a driver provides to transactions. */
export interface TransactionHost {
  readonly clock: Clock;
  readonly rng: Rng;
  /** Time limit of BEGIN, COMMIT and ROLLBACK. */
  readonly callTimeoutMs: number;
  readonly transactionTimeoutMs: number;
  /** True if the server gets the time limits too: it outlives this process. */
  readonly limitsServer: boolean;
  /** Gets a session before the deadline (of `clock.monotonicMs`). */
  acquire(deadline: number, signal?: AbortSignal): Promise<Session>;
  /** Finds the outcome of a transaction whose COMMIT was not answered. Undefined if it stays unknown. */
  settle(xid: string): Promise<'committed' | 'aborted' | undefined>;
}
