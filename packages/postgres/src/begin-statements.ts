import type { TransactionOptions } from './database.js';

const ISOLATION = {
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
} as const;

/** Additions to BEGIN that travel in the same round trip. */
export interface BeginOptions {
  /** Time that is left for the transaction. The server gets no limit without it. */
  readonly limitMs?: number | undefined;
  /** Expressions with their names, for the one row that comes back. */
  readonly ask: readonly string[];
}

/**
 * Returns the statements that begin a transaction in one round trip. The server gets the time limits too: it must end the transaction when this
 * process or its network is gone. Setting them in the SELECT that is sent anyway saves two statements per transaction.
 */
export function beginStatements(
  { isolation, readOnly }: TransactionOptions,
  { limitMs, ask }: BeginOptions,
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
