import type { TransactionOptions } from '../database.js';

const ISOLATION = {
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
} as const;

/** What the beginning of a transaction has to do besides beginning it. */
export interface BeginWishes {
  /** What is left of the transaction's time, for the server; none where nobody could outlive this process. */
  readonly limitMs?: number | undefined;
  /** Expressions with their names, for the one row that comes back. */
  readonly ask: readonly string[];
}

/**
 * The statements that begin a transaction, for one round trip. The time limits are PostgreSQL's own: when this process
 * or its network is gone, nobody else would end what was begun. Set by a function in the SELECT that is needed anyway: two
 * statements less per transaction.
 * @param options - isolation, read-only.
 */
export function beginStatements(
  { isolation, readOnly }: TransactionOptions,
  { limitMs, ask }: BeginWishes,
): string {
  const begin = `BEGIN ISOLATION LEVEL ${ISOLATION[isolation ?? 'read committed']}${readOnly ? ' READ ONLY' : ''}`;
  const columns = [...ask];
  if (limitMs !== undefined) {
    // 0 would mean no limit; the settings are 32-bit integers.
    const limit = Math.min(Math.max(1, Math.ceil(limitMs)), 2 ** 31 - 1);
    for (const setting of ['statement_timeout', 'idle_in_transaction_session_timeout'])
      columns.push(`set_config('${setting}', '${limit}', true)`);
  }
  return columns.length === 0 ? begin : `${begin}; SELECT ${columns.join(', ')}`;
}
