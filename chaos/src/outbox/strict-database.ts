import { PgDatabase, type TransactionOptions, type Tx } from '@millrace/postgres';

/**
 * PostgreSQL with every transaction SERIALIZABLE, whoever asks for it: handlers and the outbox itself are told to try again whenever
 * others were in the way.
 */
export class StrictDatabase extends PgDatabase {
  override transaction<T>(fn: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return super.transaction(fn, { ...options, isolation: 'serializable' });
  }
}
