import {
  ERRORS,
  type QueryOptions,
  type QueryResult,
  type Row,
  type SqlParameter,
  type Tx,
} from '@millrace/postgres';

/**
 * The transaction passed to handlers and listeners. They cannot commit it: the outbox commits after it has recorded the end
 * of the task or batch.
 */
export class LentTx implements Tx {
  readonly #tx: Tx;

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

  /** Refused: the writes would be committed without the end, and the next attempt would write them again. */
  async commitWith(): Promise<never> {
    throw ERRORS.create('TX_REENTRANT', {
      call: 'tx.commitWith',
      consequence: 'commit without the end of the task or batch',
      instead: 'tx.query, then return: the outbox commits',
    });
  }
}
