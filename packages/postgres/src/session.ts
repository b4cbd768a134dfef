import type { QueryOptions, QueryResult, Row } from './database.js';

/** What a session gives back: a result with the command that was executed. */
export interface SessionResult extends QueryResult<Row> {
  /** The first word of PostgreSQL's answer: a COMMIT of a broken transaction answers ROLLBACK. */
  readonly command: string;
}

/**
 * One connection in the hands of one caller. Every way out of that is one call: `release` or `discard`.
 */
export interface Session {
  /** Which life of the server the connection belongs to, noted by the first transaction on it. */
  serverLife: string | undefined;
  /** Runs one statement; those of one session run in the order of their calls, which need not wait for each other. Fails with what the driver threw. */
  run(sql: string, values: readonly (string | null)[], options?: QueryOptions): Promise<SessionResult>;
  /** Runs several statements in one round trip; gives all their results. */
  script(sql: string, options?: { readonly timeoutMs?: number | undefined }): Promise<SessionResult[]>;
  /** Calls back once when the connection is lost under its holder; not after `release` or `discard`. */
  onLost(listener: (reason: unknown) => void): void;
  /** Gives the connection back for the next caller. */
  release(): void;
  /** Ends whatever runs on the connection, without an answer being waited for. */
  discard(): void;
}
