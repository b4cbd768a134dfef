import {
  ERRORS,
  type QueryOptions,
  type QueryResult,
  type Row,
  type SqlParameter,
  type Tx,
} from '@millrace/postgres';

/**
 * A transaction as handlers and listeners get it: all of it but its commit. That is the outbox' own, which writes the end of the task or of
 * the batch before it.
 */
export class LentTx implements Tx {
  readonly #tx: Tx;

  /** @param tx - whose commit is not lent. */
  constructor(tx: Tx) {
    this.#tx = tx;
  }

  get signal(): AbortSignal {
    return this.#tx.signal;
  }

  get xid(): string | undefined {
    return this.#tx.xid;
  }

  query<R extends object = Row>(
    sql: string,
    params?: readonly SqlParameter[],
    options?: QueryOptions,
  ): Promise<QueryResult<R>> {
    return this.#tx.query<R>(sql, params, options);
  }

  script(sql: string): Promise<void> {
    return this.#tx.script(sql);
  }

  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#tx.transaction(fn);
  }

  /** Is refused: what has been written would be committed without the end, and written again by the next try. */
  async commitWith(): Promise<never> {
    throw ERRORS.create('TX_REENTRANT', {
      call: 'tx.commitWith',
      consequence: 'commit without the end of the task or batch',
      instead: 'tx.query, then return: the outbox commits',
    });
  }
}
