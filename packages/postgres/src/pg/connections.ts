import { beginWait, type Wait, type WaitLimits } from '@millrace/foundation';
import type pg from 'pg';
import type { QueryOptions } from '../database.js';
import type { Session, SessionResult } from '../driver.js';
import { ERRORS } from '../errors.js';
import { endsConnection, isSqlError, kindOf, stoppedError } from '../failure.js';
import { clientConfig, destroyClient, gatherWrites, loadPg, reconnectPauseMs } from './client.js';
import type { ResolvedPgDatabaseOptions } from './options.js';

/**
 * The pool of pg with four additions: a deadline and signal per caller, new attempts while PostgreSQL is away, distrust of idle connections after one
 * of them was silent, and a stop that waits for nothing.
 */
export class Connections {
  readonly options: ResolvedPgDatabaseOptions;
  /** By client, since a session is only one use of it. */
  readonly serverLives = new WeakMap<pg.ClientBase, string>();
  readonly #live = new Set<pg.Client>();
  readonly #answeredAt = new WeakMap<pg.ClientBase, number>();
  readonly #waiters = new Set<(error: unknown) => void>();
  #pool: Promise<pg.Pool> | undefined;
  #suspectBefore = -Infinity;
  #checksClient = true;
  #isStopped = false;

  constructor(options: ResolvedPgDatabaseOptions) {
    this.options = options;
  }

  /**
   * Gets a connection. Tries again while PostgreSQL is away, since connecting changes nothing.
   * @throws DATABASE_TIMEOUT with the last failure as its cause; SERVICE_STOPPED; the signal's reason; PostgreSQL's error about the user, the
   * password or the database.
   */
  async acquire(deadline: number, signal?: AbortSignal): Promise<PgSession> {
    const { clock } = this.options;
    const startedAt = clock.monotonicMs();
    let lastFailure: unknown;
    for (let failures = 0; ; ) {
      signal?.throwIfAborted();
      if (this.#isStopped) throw stoppedError();
      const leftMs = deadline - clock.monotonicMs();
      if (leftMs <= 0) throw this.#timeout(deadline - startedAt, lastFailure);
      try {
        const client = await this.#checkOut(leftMs, signal);
        if ((this.#answeredAt.get(client) ?? -Infinity) > this.#suspectBefore)
          return new PgSession(client, this);
        destroyClient(client);
        client.release(true);
        continue;
      } catch (error) {
        if (this.#isStopped) throw stoppedError();
        if (signal?.aborted || ERRORS.is(error, 'DRIVER_MISSING')) throw error;
        if (ERRORS.is(error, 'DATABASE_TIMEOUT')) continue;
        if (kindOf(error) === 'sql' && !this.#withoutClientCheck(error)) throw error;
        lastFailure = error;
      }
      const pauseMs = Math.min(reconnectPauseMs(this.options, ++failures), deadline - clock.monotonicMs());
      await this.#wait<void>({ timeoutMs: pauseMs, signal, onTimeout: ({ resolve }) => resolve() });
    }
  }

  /** Notes that PostgreSQL has answered on this client. */
  noteReply(client: pg.ClientBase): void {
    this.#answeredAt.set(client, this.options.clock.monotonicMs());
  }

  /** Notes that a client is gone or silent. */
  noteLoss(error: unknown): void {
    // If PostgreSQL itself ended the connection, it ends the others too. Otherwise they may be dead without a sign.
    if (!isSqlError(error)) this.#suspectBefore = this.options.clock.monotonicMs();
  }

  /** Destroys every connection at once, those in use included. All waits and calls under way fail. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const giveUp of [...this.#waiters]) giveUp(stoppedError());
    for (const client of this.#live) destroyClient(client);
    await (await this.#pool?.catch(() => undefined))?.end();
  }

  /** Has its own time limit: pg's does not tell the wait for a free connection from the making of a new one. */
  async #checkOut(timeoutMs: number, signal?: AbortSignal): Promise<pg.PoolClient> {
    this.#pool ??= this.#makePool();
    const pool = await this.#pool;
    signal?.throwIfAborted();
    if (this.#isStopped) throw stoppedError();
    const connecting = pool.connect();
    const onTimeout = ({ reject }: Wait<never>) => reject(this.#timeout(timeoutMs));
    return this.#wait<pg.PoolClient>({ timeoutMs, signal, onTimeout }, connecting).catch((error: unknown) => {
      // It may still be made.
      connecting.then(
        (client) => client.release(),
        () => {},
      );
      throw error;
    });
  }

  /** Waits until the work ends, a limit is reached, or `stop` is called. */
  async #wait<T>(limits: Omit<WaitLimits<T>, 'clock'>, work?: Promise<T>): Promise<T> {
    let giveUp = (_error: unknown) => {};
    try {
      return await beginWait<T>({ clock: this.options.clock, ...limits }, ({ resolve, reject }) => {
        giveUp = reject;
        this.#waiters.add(giveUp);
        work?.then(resolve, reject);
      });
    } finally {
      this.#waiters.delete(giveUp);
    }
  }

  async #makePool(): Promise<pg.Pool> {
    const { Client, Pool } = await loadPg();
    if (this.#isStopped) throw stoppedError();
    const connections = this;
    const { poolSize: max, idleTimeoutMs: idleTimeoutMillis, logger } = this.options;
    class TrackedClient extends Client {
      constructor() {
        super(clientConfig(connections.options, 'pool', connections.#checksClient));
        connections.#live.add(this);
        this.once('end', () => connections.#live.delete(this));
        // The session reports the error to its user. Without a listener the error would end the process.
        this.on('error', () => {});
      }
    }
    const pool = new Pool({ max, idleTimeoutMillis, Client: TrackedClient as never });
    pool.on('connect', (client) => this.noteReply(client));
    pool.on('error', (error) => logger.warn({ reason: error.message }, 'Idle PostgreSQL connection lost'));
    return pool;
  }

  #withoutClientCheck(error: unknown): boolean {
    if (!this.#checksClient || !/client_connection_check_interval/.test((error as Error).message))
      return false;
    this.#checksClient = false;
    return true;
  }

  #timeout(timeoutMs: number, cause?: unknown): Error {
    const { code, message } = (cause ?? {}) as { code?: string; message?: string };
    const what = cause
      ? `Connecting (${message || code})`
      : `The wait for one of ${this.options.poolSize} connections`;
    return ERRORS.create('DATABASE_TIMEOUT', { what, timeoutMs: Math.round(timeoutMs) }, { cause });
  }
}

/** A connection of the pool while one caller uses it. */
class PgSession implements Session {
  readonly #client: pg.PoolClient;
  readonly #pool: Connections;
  readonly #onEnd = () => this.#lost(new Error('Connection terminated unexpectedly'));
  readonly #onError = (error: unknown) => this.#lost(error);
  #lostListener: (reason: unknown) => void = () => {};
  #inUse = true;
  #usable = true;

  constructor(client: pg.PoolClient, pool: Connections) {
    this.#client = client;
    this.#pool = pool;
    client.on('end', this.#onEnd);
    client.on('error', this.#onError);
  }

  get serverLife(): string | undefined {
    return this.#pool.serverLives.get(this.#client);
  }

  set serverLife(life: string) {
    this.#pool.serverLives.set(this.#client, life);
  }

  run(
    sql: string,
    values: readonly (string | null)[],
    { timeoutMs, signal, name }: QueryOptions = {},
  ): Promise<SessionResult> {
    const statement = {
      text: sql,
      values: values as (string | null)[],
      // Refuses several statements in one text, also without parameters, as PGlite does.
      queryMode: 'extended',
      ...(name !== undefined && this.#pool.options.prepare && { name }),
    };
    return this.#limited(() => this.#client.query(statement), timeoutMs, signal).then(toResult);
  }

  script(sql: string, { timeoutMs }: { readonly timeoutMs?: number | undefined } = {}) {
    return this.#limited<pg.QueryResult | pg.QueryResult[]>(() => this.#client.query(sql), timeoutMs).then(
      (results) => [results].flat().map(toResult),
    );
  }

  onLost(listener: (reason: unknown) => void): void {
    this.#lostListener = listener;
  }

  release(): void {
    this.#end(!this.#usable);
  }

  discard(): void {
    this.#end(true);
  }

  #limited<T>(send: () => Promise<T>, timeoutMs?: number, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { clock } = this.#pool.options;
    const fail = ({ reject }: Wait<T>, error: unknown) => {
      if (endsConnection(error)) {
        this.#usable = false;
        this.#pool.noteLoss(error);
      }
      reject(error);
    };
    // pg's own limit would leave the statement running, and its reply to the next caller. Destroy the socket.
    const onAbort = (wait: Wait<T>, error: unknown) => {
      this.#usable = false;
      destroyClient(this.#client);
      fail(wait, error);
    };
    const onTimeout = (wait: Wait<T>) => {
      const details = { what: 'The statement', timeoutMs: Math.round(timeoutMs ?? 0) };
      onAbort(wait, ERRORS.create('DATABASE_TIMEOUT', details));
    };
    return beginWait<T>({ clock, timeoutMs, signal, onTimeout, onAbort }, (wait) => {
      gatherWrites(this.#client);
      send().then(
        (result) => {
          this.#pool.noteReply(this.#client);
          wait.resolve(result);
        },
        (error: unknown) => fail(wait, error),
      );
    });
  }

  #lost(reason: unknown): void {
    this.#usable = false;
    this.#lostListener(reason);
  }

  #end(isBroken: boolean): void {
    if (!this.#inUse) return;
    this.#inUse = false;
    this.#lostListener = () => {};
    this.#client.off('end', this.#onEnd);
    this.#client.off('error', this.#onError);
    if (isBroken) destroyClient(this.#client);
    this.#client.release(isBroken);
  }
}

function toResult({ rows, rowCount, command }: pg.QueryResult): SessionResult {
  return { rows, rowCount: rowCount ?? 0, command };
}
