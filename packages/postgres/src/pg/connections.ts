import type { CancelTimer } from '@millrace/foundation';
import type pg from 'pg';
import { ERRORS } from '../errors.js';
import { isSqlError, kindOf, stoppedError } from '../failure.js';
import { clientConfig, destroyClient, loadPg, reconnectPauseMs } from './client.js';
import type { ResolvedPgDatabaseOptions } from './options.js';
import { PgSession, type SessionPool } from './session.js';

/**
 * The pool of pg with four additions: a deadline and signal per caller, new attempts while PostgreSQL is away, distrust of idle connections after one
 * of them was silent, and a stop that waits for nothing.
 */
export class Connections {
  readonly #options: ResolvedPgDatabaseOptions;
  readonly #sessionPool: SessionPool;
  readonly #live = new Set<pg.Client>();
  readonly #answeredAt = new WeakMap<pg.ClientBase, number>();
  readonly #waiters = new Set<(error: unknown) => void>();
  #pool: Promise<pg.Pool> | undefined;
  #suspectBefore = -Infinity;
  #checksClient = true;
  #isStopped = false;

  constructor(options: ResolvedPgDatabaseOptions) {
    this.#options = options;
    const { clock, prepare } = options;
    this.#sessionPool = {
      clock,
      prepare,
      serverLives: new WeakMap(),
      onReply: (client) => this.#answeredAt.set(client, clock.monotonicMs()),
      onConnectionLost: (error) => {
        // If PostgreSQL itself ended the connection, it ends the others too. Otherwise they may be dead without knowing it.
        if (!isSqlError(error)) this.#suspectBefore = clock.monotonicMs();
      },
    };
  }

  /**
   * Gets a connection. Tries again while PostgreSQL is away, since connecting changes nothing.
   * @throws DATABASE_TIMEOUT with the last failure as its cause; SERVICE_STOPPED; the signal's reason; PostgreSQL's error about the user, the
   * password or the database.
   */
  async acquire(deadline: number, signal?: AbortSignal): Promise<PgSession> {
    const { clock } = this.#options;
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
          return new PgSession(client, this.#sessionPool);
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
      const pauseMs = reconnectPauseMs(this.#options, failures++);
      await this.#pause(Math.min(pauseMs, deadline - clock.monotonicMs()), signal);
    }
  }

  /** Destroys every connection at once, those in use included. All waits and calls under way fail. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const giveUp of [...this.#waiters]) giveUp(stoppedError());
    for (const client of this.#live) destroyClient(client);
    await (await this.#pool?.catch(() => undefined))?.end();
  }

  /** Has its own timer: pg's limit does not tell the wait for a free connection from the making of a new one. */
  async #checkOut(leftMs: number, signal?: AbortSignal): Promise<pg.PoolClient> {
    this.#pool ??= this.#makePool();
    const pool = await this.#pool;
    signal?.throwIfAborted();
    if (this.#isStopped) throw stoppedError();
    return new Promise((resolve, reject) => {
      let waiting = true;
      let cancel: CancelTimer = () => {};
      const settled = () => {
        waiting = false;
        cancel();
        this.#waiters.delete(giveUp);
        signal?.removeEventListener('abort', onAbort);
      };
      const giveUp = (error: unknown) => {
        settled();
        reject(error);
      };
      const onAbort = () => giveUp(signal?.reason);
      cancel = this.#options.clock.setTimer(leftMs, () => giveUp(this.#timeout(leftMs)));
      this.#waiters.add(giveUp);
      signal?.addEventListener('abort', onAbort, { once: true });
      pool.connect().then((client) => {
        if (waiting) {
          settled();
          resolve(client);
        } else client.release();
      }, giveUp);
    });
  }

  async #makePool(): Promise<pg.Pool> {
    const { Client, Pool } = await loadPg();
    if (this.#isStopped) throw stoppedError();
    const connections = this;
    const { poolSize, idleTimeoutMs, clock, logger } = this.#options;
    class TrackedClient extends Client {
      constructor() {
        super(clientConfig(connections.#options, { role: 'pool', checksClient: connections.#checksClient }));
        connections.#live.add(this);
        this.once('end', () => connections.#live.delete(this));
        // The session reports the error to its user. Without a listener the error would end the process.
        this.on('error', () => {});
      }
    }
    const pool = new Pool({
      max: poolSize,
      idleTimeoutMillis: idleTimeoutMs,
      Client: TrackedClient as never,
    });
    pool.on('connect', (client) => this.#answeredAt.set(client, clock.monotonicMs()));
    pool.on('error', (error) => logger.warn({ reason: error.message }, 'Idle PostgreSQL connection lost'));
    return pool;
  }

  #withoutClientCheck(error: unknown): boolean {
    if (!this.#checksClient || !/client_connection_check_interval/.test((error as Error).message))
      return false;
    this.#checksClient = false;
    return true;
  }

  #pause(pauseMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        this.#waiters.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#options.clock.setTimer(Math.max(0, pauseMs), wake);
      this.#waiters.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
      if (signal?.aborted) wake();
    });
  }

  #timeout(timeoutMs: number, cause?: unknown): Error {
    const { code, message } = (cause ?? {}) as { code?: string; message?: string };
    const what = cause
      ? `Connecting (${message || code})`
      : `The wait for one of ${this.#options.poolSize} connections`;
    return ERRORS.create('DATABASE_TIMEOUT', { what, timeoutMs: Math.round(timeoutMs) }, { cause });
  }
}
