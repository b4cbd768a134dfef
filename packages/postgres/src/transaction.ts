import { backoffMs, sleep, withJitter } from '@millrace/foundation';
import type { QueryOptions, QueryResult, Row, TransactionOptions, Tx } from './database.js';
import { resultOf, type Session, type SessionResult, type TransactionHost } from './driver.js';
import { ERRORS } from './errors.js';
import { endsConnection, isConflict, isSqlError, reentrant, toDatabaseError } from './failure.js';
import { SERVER_LIFE } from './outcome.js';
import { encodeParameters, type SqlParameter } from './values.js';

/** Longest pause before the first retry. Pauses are up to three quarters shorter, or the two that collided would collide again. */
const RETRY_BASE_MS = 10;
const RETRY_JITTER = -0.75;

/** Delay of the server's own limits. Without it a caller would see now the one error, now the other. */
const SERVER_LATER_MS = 500;

const ISOLATION = {
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
} as const;

/** Runs a function in a transaction; see `Database.transaction`. */
export async function runTransaction<T>(
  host: TransactionHost,
  fn: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const { clock, rng } = host;
  const { timeoutMs = host.transactionTimeoutMs, retries = 0, signal } = options;
  const deadline = clock.monotonicMs() + timeoutMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(host, fn, { ...options, timeoutMs }, deadline);
    } catch (error) {
      if (attempt > retries || !isConflict(error)) throw error;
      const backoff = { strategy: 'exponential', attempt, baseMs: RETRY_BASE_MS, maxMs: timeoutMs } as const;
      const pauseMs = withJitter(backoffMs(backoff), RETRY_JITTER, rng.next());
      if (clock.monotonicMs() + pauseMs >= deadline || !(await sleep(clock, pauseMs, signal))) throw error;
    }
  }
}

async function runOnce<T>(
  host: TransactionHost,
  fn: (tx: Tx) => Promise<T>,
  options: TransactionOptions & { readonly timeoutMs: number },
  deadline: number,
): Promise<T> {
  const { timeoutMs, signal } = options;
  const session = await host.acquire(deadline, signal).catch((error: unknown) => {
    throw toDatabaseError(error, 'a transaction', signal);
  });
  const transaction = new Transaction(host, session, options);
  const leftMs = Math.max(0, deadline - host.clock.monotonicMs());
  const cancelTimer = host.clock.setTimer(leftMs, () =>
    transaction.close(ERRORS.create('TX_TIMEOUT', { timeoutMs })),
  );
  const onAbort = () => transaction.close(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  try {
    const begun = transaction.begin(host.limitsServer ? leftMs + SERVER_LATER_MS : undefined);
    if (!options.beginWithFirst) await begun;
    const value = await transaction.whileOpen(fn(transaction.tx));
    cancelTimer();
    await transaction.commit();
    return value;
  } catch (error) {
    cancelTimer();
    throw await transaction.rollBack(error);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * One transaction on one session.
 *
 * ```
 *   OPEN ──function returns──▶ COMMITTING ──▶ ENDED: committed, refused, or found out after a lost reply
 *    ├───function throws─────▶ ENDED: rolled back
 *    └───timeout, signal, connection lost──▶ ENDED: session discarded, the function is not waited for
 * ```
 * Once COMMITTING neither timeout nor signal changes anything: the caller must learn the truth.
 */
class Transaction {
  readonly tx: Scope;
  readonly #host: TransactionHost;
  readonly #session: Session;
  readonly #options: TransactionOptions;
  /** Created at the first use: most functions never read it. */
  #abort: AbortController | undefined;
  readonly #closed: Promise<never>;
  #rejectClosed: (reason: unknown) => void = () => {};
  #state: 'OPEN' | 'COMMITTING' | 'ENDED' = 'OPEN';
  #closedBy: { readonly reason: unknown } | undefined;
  xid: string | undefined;
  /** The first statement that failed since the start or the last savepoint that was rolled back. */
  #failure: unknown;
  /** Number of savepoints so far, for their names. */
  savepoints = 0;
  #begun: Promise<void> = Promise.resolve();

  constructor(host: TransactionHost, session: Session, options: TransactionOptions) {
    this.#host = host;
    this.#session = session;
    this.#options = options;
    this.#closed = new Promise((_, reject) => {
      this.#rejectClosed = reject;
    });
    this.#closed.catch(() => {}); // Awaited only while something runs.
    this.tx = new Scope(this);
    session.onLost((reason) => this.close(toDatabaseError(reason, 'a transaction')));
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#closedBy) this.#abort.abort(this.#closedBy.reason);
    return this.#abort.signal;
  }

  /** Begins in one round trip, which also returns the xid for the lookup of a lost COMMIT. If it fails, statements sent behind it fail too. */
  begin(limitMs: number | undefined): Promise<void> {
    this.#begun = this.#begin(limitMs);
    this.#begun.catch(() => {}); // Awaited before COMMIT at the latest.
    return this.#begun;
  }

  async #begin(limitMs: number | undefined): Promise<void> {
    const { isolation = 'read committed', readOnly = false } = this.#options;
    const begin = `BEGIN ISOLATION LEVEL ${ISOLATION[isolation]}${readOnly ? ' READ ONLY' : ''}`;
    const columns: string[] = [];
    // A lost COMMIT of a read-only transaction changes nothing.
    if (!readOnly) columns.push('pg_current_xact_id()::text AS number');
    if (!readOnly && this.#session.serverLife === undefined) columns.push(`${SERVER_LIFE} AS life`);
    // The server must end the transaction when this process or its network is gone. The SELECT that is sent anyway saves two statements.
    if (limitMs !== undefined) {
      // 0 would mean no limit. The settings are 32-bit integers.
      const limit = Math.min(Math.max(1, Math.ceil(limitMs)), 2 ** 31 - 1);
      for (const setting of ['statement_timeout', 'idle_in_transaction_session_timeout'])
        columns.push(`set_config('${setting}', '${limit}', true)`);
    }
    const text = columns.length === 0 ? begin : `${begin}; SELECT ${columns.join(', ')}`;
    const results = await this.whileOpen(this.script(text));
    if (readOnly) return;
    const row = results.at(-1)?.rows[0] as { number: string; life?: string };
    this.#session.serverLife ??= row.life;
    this.xid = `${row.number}@${this.#session.serverLife}`;
  }

  /** Waits for `work`, but no longer than the transaction is open. */
  whileOpen<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {}); // A failure after the end has no caller.
    return Promise.race([work, this.#closed]);
  }

  /** Ends the transaction while its function still runs. */
  close(reason: unknown): void {
    if (this.#state !== 'OPEN') return;
    this.#state = 'ENDED';
    this.#closedBy = { reason };
    this.tx.end(reason instanceof Error ? reason.message : 'aborted');
    this.#session.discard();
    this.#abort?.abort(reason);
    this.#rejectClosed(reason);
  }

  async run(
    sql: string,
    values: readonly (string | null)[],
    options: QueryOptions = {},
  ): Promise<SessionResult> {
    return this.#watched(this.#session.run(sql, values, options), options.signal);
  }

  async script(sql: string): Promise<SessionResult[]> {
    return this.#watched(this.#session.script(sql));
  }

  /** Forgets a failure inside a savepoint that was rolled back: it has not broken the transaction. */
  forgive(): void {
    this.#failure = undefined;
  }

  /** Commits, unless `commitWith` has done so. */
  async commit(): Promise<void> {
    if (this.#state !== 'ENDED' || this.#closedBy) await this.#commitAfter();
  }

  commitWith(
    sql: string,
    values: readonly (string | null)[],
    { name }: Pick<QueryOptions, 'name'>,
  ): Promise<SessionResult | undefined> {
    return this.#commitAfter((timeoutMs) => this.#session.run(sql, values, { timeoutMs, name }));
  }

  /** Sends a last statement and COMMIT together. If the statement fails, COMMIT rolls back. */
  async #commitAfter(
    send?: (timeoutMs: number) => Promise<SessionResult>,
  ): Promise<SessionResult | undefined> {
    // The number of the transaction is needed to look up a lost COMMIT.
    await this.#begun;
    if (this.#closedBy) throw this.#closedBy.reason;
    this.#state = 'COMMITTING';
    this.tx.end('it was committed');
    const { callTimeoutMs: timeoutMs } = this.#host;
    const [last, commit] = await Promise.allSettled([
      send?.(timeoutMs),
      this.#session.script('COMMIT', { timeoutMs }),
    ]);
    this.#state = 'ENDED';
    if (commit.status === 'rejected' && endsConnection(commit.reason)) {
      await this.#afterLostCommit(commit.reason);
      return last.status === 'fulfilled' ? last.value : undefined;
    }
    this.#session.release();
    if (commit.status === 'rejected') throw toDatabaseError(commit.reason, 'COMMIT');
    if (last.status === 'rejected') {
      if (this.#isEcho(last.reason)) throw this.#rolledBack();
      throw toDatabaseError(last.reason, 'the last statement of a transaction');
    }
    if (commit.value[0]?.command !== 'COMMIT') throw this.#rolledBack();
    return last.value;
  }

  /** Rolls back what is still open and returns the error for the caller. */
  async rollBack(error: unknown): Promise<unknown> {
    if (this.#closedBy) return this.#closedBy.reason;
    if (this.#state === 'ENDED') return error;
    this.#state = 'ENDED';
    this.tx.end('it was rolled back');
    try {
      await this.#session.script('ROLLBACK', { timeoutMs: this.#host.callTimeoutMs });
      this.#session.release();
    } catch {
      this.#session.discard(); // PostgreSQL rolls back when the connection is gone.
    }
    return error;
  }

  async #afterLostCommit(cause: unknown): Promise<void> {
    this.#session.discard();
    if (this.xid === undefined) return; // Read-only: nothing to commit.
    const outcome = await this.#host.settle(this.xid);
    if (outcome === 'committed') return;
    if (outcome === 'aborted') throw toDatabaseError(cause, 'COMMIT');
    throw ERRORS.create('COMMIT_UNKNOWN', { xid: this.xid }, { cause });
  }

  /** Reports whether an error only says that an earlier statement failed, whose error the function swallowed. */
  #isEcho(error: unknown): boolean {
    return this.#failure !== undefined && isSqlError(error, '25P02');
  }

  #rolledBack(): Error {
    return ERRORS.create('TX_ROLLED_BACK', {}, { cause: this.#failure });
  }

  async #watched<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (thrown) {
      // Read-only by option: the statement is wrong, not the server.
      const isOwnFault = this.#options.readOnly && isSqlError(thrown, '25006');
      const isAborted = signal?.aborted && thrown === signal.reason;
      if (this.#isEcho(thrown)) throw this.#rolledBack();
      const isAsThrown = isOwnFault || isAborted;
      const error = isAsThrown ? thrown : toDatabaseError(thrown, 'a statement of a transaction');
      if (isAborted || (!isOwnFault && endsConnection(thrown))) this.close(error);
      else this.#failure ??= thrown;
      throw error;
    }
  }
}

/** The tx of a function: of the whole transaction or of a savepoint. */
class Scope implements Tx {
  readonly #transaction: Transaction;
  readonly #isPart: boolean;
  #endedBecause: string | undefined;
  #inner: Scope | undefined;

  constructor(transaction: Transaction, isPart = false) {
    this.#transaction = transaction;
    this.#isPart = isPart;
  }

  get signal(): AbortSignal {
    return this.#transaction.signal;
  }

  get xid(): string | undefined {
    return this.#transaction.xid;
  }

  async query<R extends object = Row>(
    sql: string,
    params: readonly SqlParameter[] = [],
    options: QueryOptions = {},
  ): Promise<QueryResult<R>> {
    this.#requireUsable('tx.query');
    options.signal?.throwIfAborted();
    return resultOf(await this.#transaction.run(sql, encodeParameters(params), options));
  }

  async commitWith<R extends object = Row>(
    sql: string,
    params: readonly SqlParameter[] = [],
    options: Pick<QueryOptions, 'name'> = {},
  ): Promise<QueryResult<R> | undefined> {
    this.#requireUsable('tx.commitWith');
    const consequence = 'commit what it is only a part of';
    if (this.#isPart) throw reentrant('tx.commitWith', consequence, 'the tx of the outermost function');
    const result = await this.#transaction.commitWith(sql, encodeParameters(params), options);
    return result && resultOf(result);
  }

  async script(sql: string): Promise<void> {
    this.#requireUsable('tx.script');
    await this.#transaction.script(sql);
  }

  async transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    this.#requireUsable('tx.transaction');
    const transaction = this.#transaction;
    const savepoint = `millrace_${++transaction.savepoints}`;
    const inner = new Scope(transaction, true);
    this.#inner = inner;
    try {
      await transaction.script(`SAVEPOINT ${savepoint}`);
      try {
        const value = await transaction.whileOpen(fn(inner));
        inner.end('its part of the transaction is over');
        await transaction.script(`RELEASE SAVEPOINT ${savepoint}`);
        return value;
      } catch (error) {
        inner.end('its part of the transaction was rolled back');
        if (this.#endedBecause === undefined) {
          await transaction.script(`ROLLBACK TO SAVEPOINT ${savepoint}`);
          transaction.forgive();
        }
        throw error;
      }
    } finally {
      this.#inner = undefined;
    }
  }

  /** Refuses further use of this tx and of those nested in it. */
  end(because: string): void {
    this.#endedBecause ??= because;
    this.#inner?.end(because);
  }

  #requireUsable(call: string): void {
    if (this.#endedBecause !== undefined) throw ERRORS.create('TX_CLOSED', { reason: this.#endedBecause });
    const consequence = 'be rolled back with a part it does not belong to';
    if (this.#inner) throw reentrant(call, consequence, 'the tx of the innermost function');
  }
}
