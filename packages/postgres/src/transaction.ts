import { sleep } from '@millrace/foundation';
import { beginStatements } from './begin-statements.js';
import type { QueryOptions, QueryResult, Row, TransactionOptions, Tx } from './database.js';
import type { Session, SessionResult, TransactionHost } from './driver.js';
import { ERRORS } from './errors.js';
import { endsConnection, isConflict, isSqlError, toDatabaseError } from './failure.js';
import { SERVER_LIFE } from './outcome.js';
import { encodeParameters, type SqlParameter } from './values.js';

const FIRST_PAUSE_MS = 5;

/** Runs a function in a transaction; see `Database.transaction`. */
export async function runTransaction<T>(
  host: TransactionHost,
  fn: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const { clock, rng } = host;
  const { timeoutMs = host.transactionTimeoutMs, retries = 0, signal } = options;
  const deadline = clock.monotonicMs() + timeoutMs;
  for (let attempt = 0; ; attempt++) {
    try {
      return await runOnce(host, fn, { ...options, timeoutMs }, deadline);
    } catch (error) {
      if (attempt >= retries || !isConflict(error)) throw error;
      // With jitter, or the two that collided would collide again.
      const pauseMs = FIRST_PAUSE_MS * 2 ** attempt * (0.5 + rng.next());
      if (clock.monotonicMs() + pauseMs >= deadline || !(await sleep(clock, pauseMs, signal))) throw error;
    }
  }
}

/** Delay of the server's own limits. Without it a caller would see now the one error, now the other. */
const SERVER_LATER_MS = 500;

async function runOnce<T>(
  host: TransactionHost,
  fn: (tx: Tx) => Promise<T>,
  options: TransactionOptions & { readonly timeoutMs: number },
  deadline: number,
): Promise<T> {
  const { timeoutMs, signal } = options;
  const session = await host.acquire(deadline, signal).catch((error: unknown) => {
    throw signal?.aborted && error === signal.reason ? error : toDatabaseError(error, 'a transaction');
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
  #xid: string | undefined;
  /** The first statement that failed since the start or the last savepoint that was rolled back. */
  #failure: unknown;
  #savepoints = 0;
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

  get xid(): string | undefined {
    return this.#xid;
  }

  /** Begins in one round trip, and learns what a lost COMMIT has to be looked up by. If it fails, statements sent behind it fail too. */
  begin(limitMs: number | undefined): Promise<void> {
    this.#begun = this.#begin(limitMs);
    this.#begun.catch(() => {}); // Awaited before COMMIT at the latest.
    return this.#begun;
  }

  async #begin(limitMs: number | undefined): Promise<void> {
    const { readOnly = false } = this.#options;
    const isKnown = this.#session.serverLife !== undefined;
    const number = ['pg_current_xact_id()::text AS number', ...(isKnown ? [] : [`${SERVER_LIFE} AS life`])];
    const ask = readOnly ? [] : number; // A lost COMMIT of a read-only transaction changes nothing.
    const results = await this.whileOpen(this.script(beginStatements(this.#options, { limitMs, ask })));
    if (readOnly) return;
    const row = results.at(-1)?.rows[0] as { number: string; life?: string };
    this.#session.serverLife ??= row.life;
    this.#xid = `${row.number}@${this.#session.serverLife}`;
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

  nextSavepoint(): string {
    this.#savepoints++;
    return `millrace_${this.#savepoints}`;
  }

  /** Forgets a failure inside a savepoint that was rolled back: it has not broken the transaction. */
  forgive(): void {
    this.#failure = undefined;
  }

  async commit(): Promise<void> {
    if (this.#state === 'ENDED' && !this.#closedBy) return; // Committed with its last statement.
    // The number of the transaction is needed to look up a lost COMMIT.
    await this.#begun;
    if (this.#closedBy) throw this.#closedBy.reason;
    this.#state = 'COMMITTING';
    this.tx.end('it was committed');
    let answer: SessionResult | undefined;
    try {
      [answer] = await this.#session.script('COMMIT', { timeoutMs: this.#host.callTimeoutMs });
    } catch (error) {
      this.#state = 'ENDED';
      if (endsConnection(error)) return this.#afterLostCommit(error);
      this.#session.release();
      throw toDatabaseError(error, 'COMMIT');
    }
    this.#state = 'ENDED';
    this.#session.release();
    if (answer?.command !== 'COMMIT') throw ERRORS.create('TX_ROLLED_BACK', {}, { cause: this.#failure });
  }

  async commitWith(
    sql: string,
    values: readonly (string | null)[],
    { name }: Pick<QueryOptions, 'name'>,
  ): Promise<SessionResult | undefined> {
    await this.whileOpen(this.#begun);
    this.#state = 'COMMITTING';
    this.tx.end('it was committed');
    const { callTimeoutMs: timeoutMs } = this.#host;
    const statement = this.#session.run(sql, values, { timeoutMs, name });
    // If the statement breaks the transaction, COMMIT rolls back.
    const [answer, commit] = await Promise.allSettled([
      statement,
      this.#session.script('COMMIT', { timeoutMs }),
    ]);
    this.#state = 'ENDED';
    if (commit.status === 'rejected') {
      if (endsConnection(commit.reason)) {
        await this.#afterLostCommit(commit.reason);
        return answer.status === 'fulfilled' ? answer.value : undefined;
      }
      this.#session.release();
      throw toDatabaseError(commit.reason, 'COMMIT');
    }
    this.#session.release();
    if (answer.status === 'rejected') {
      const isEcho = isSqlError(answer.reason, '25P02') && this.#failure;
      if (isEcho) throw ERRORS.create('TX_ROLLED_BACK', {}, { cause: this.#failure });
      throw toDatabaseError(answer.reason, 'the last statement of a transaction');
    }
    if (commit.value[0]?.command !== 'COMMIT')
      throw ERRORS.create('TX_ROLLED_BACK', {}, { cause: this.#failure });
    return answer.value;
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
    if (this.#xid === undefined) return; // Read-only: nothing to commit.
    const outcome = await this.#host.settle(this.#xid);
    if (outcome === 'committed') return;
    if (outcome === 'aborted') throw toDatabaseError(cause, 'COMMIT');
    throw ERRORS.create('COMMIT_UNKNOWN', { xid: this.#xid }, { cause });
  }

  async #watched<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (thrown) {
      // Read-only by option: the statement is wrong, not the server.
      const isOwnFault = this.#options.readOnly && isSqlError(thrown, '25006');
      const isAborted = signal?.aborted && thrown === signal.reason;
      // The echo of an earlier failure that the function swallowed. Throw that one.
      if (isSqlError(thrown, '25P02') && this.#failure)
        throw ERRORS.create('TX_ROLLED_BACK', {}, { cause: this.#failure });
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
    const { rows, rowCount } = await this.#transaction.run(sql, encodeParameters(params), options);
    return { rows: rows as readonly object[] as readonly R[], rowCount };
  }

  async commitWith<R extends object = Row>(
    sql: string,
    params: readonly SqlParameter[] = [],
    options: Pick<QueryOptions, 'name'> = {},
  ): Promise<QueryResult<R> | undefined> {
    this.#requireUsable('tx.commitWith');
    if (this.#isPart) {
      const consequence = 'commit what it is only a part of';
      throw ERRORS.create('TX_REENTRANT', {
        call: 'tx.commitWith',
        consequence,
        instead: 'the tx of the outermost function',
      });
    }
    const result = await this.#transaction.commitWith(sql, encodeParameters(params), options);
    return result && { rows: result.rows as readonly object[] as readonly R[], rowCount: result.rowCount };
  }

  async script(sql: string): Promise<void> {
    this.#requireUsable('tx.script');
    await this.#transaction.script(sql);
  }

  async transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    this.#requireUsable('tx.transaction');
    const transaction = this.#transaction;
    const savepoint = transaction.nextSavepoint();
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
    if (!this.#inner) return;
    const consequence = 'be rolled back with a part it does not belong to';
    throw ERRORS.create('TX_REENTRANT', { call, consequence, instead: 'the tx of the innermost function' });
  }
}
