import type { CancelTimer } from '@millrace/foundation';
import type pg from 'pg';
import { ERRORS } from '../errors.js';
import { isSqlError, kindOf, stoppedError } from '../failure.js';
import { loadPg } from './load.js';
import type { ResolvedPgDatabaseOptions } from './options.js';
import { PgSession, type SessionHome } from './session.js';
import { clientConfig, destroyClient } from './settings.js';

const FIRST_RETRY_MS = 20;

/**
 * The pool of pg, with what it lacks: each caller's own deadline and signal, further attempts while PostgreSQL is away,
 * suspicion against idle connections after one of them was silent, and an end that waits for nobody.
 */
export class Connections {
  readonly #options: ResolvedPgDatabaseOptions;
  readonly #home: SessionHome;
  readonly #live = new Set<pg.Client>();
  readonly #heardAt = new WeakMap<pg.ClientBase, number>();
  readonly #waiters = new Set<(error: unknown) => void>();
  #pool: Promise<pg.Pool> | undefined;
  #suspectBefore = -Infinity;
  #checksClient = true;
  #isStopped = false;

  constructor(options: ResolvedPgDatabaseOptions) {
    this.#options = options;
    const { clock, prepare } = options;
    this.#home = {
      clock,
      prepare,
      serverLives: new WeakMap(),
      heard: (client) => this.#heardAt.set(client, clock.monotonicMs()),
      suspect: (error) => {
        // Where PostgreSQL said goodbye itself the others will hear it too; else they may be as dead and not know it.
        if (!isSqlError(error)) this.#suspectBefore = clock.monotonicMs();
      },
    };
  }

  /**
   * Gets a connection; tries again while PostgreSQL is away, since connecting changes nothing.
   * @throws DATABASE_TIMEOUT with the last failure as its cause; SERVICE_STOPPED; the signal's reason; what PostgreSQL
   * says of the user, the password or the database.
   */
  async acquire(deadline: number, signal?: AbortSignal): Promise<PgSession> {
    const { clock, rng, reconnectMaxMs } = this.#options;
    const startedAt = clock.monotonicMs();
    let lastFailure: unknown;
    for (let failures = 0; ; ) {
      signal?.throwIfAborted();
      if (this.#isStopped) throw stoppedError();
      const leftMs = deadline - clock.monotonicMs();
      if (leftMs <= 0) throw this.#timeout(deadline - startedAt, lastFailure);
      try {
        const client = await this.#checkOut(leftMs, signal);
        if ((this.#heardAt.get(client) ?? -Infinity) > this.#suspectBefore)
          return new PgSession(client, this.#home);
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
      const pauseMs = Math.min(reconnectMaxMs, FIRST_RETRY_MS * 2 ** failures++) * (0.5 + rng.next() / 2);
      await this.#pause(Math.min(pauseMs, deadline - clock.monotonicMs()), signal);
    }
  }

  /** Ends every connection at once, whoever has it; everything that waits or is under way fails. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const giveUp of [...this.#waiters]) giveUp(stoppedError());
    for (const client of this.#live) destroyClient(client);
    await (await this.#pool?.catch(() => undefined))?.end();
  }

  /** pg's own limit for this counts the wait for a free connection and the making of a new one as the same thing. */
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
        super(clientConfig(connections.#options, 'pool', { checksClient: connections.#checksClient }));
        connections.#live.add(this);
        this.once('end', () => connections.#live.delete(this));
        // Whoever has the client hears it from the session; without a listener an error would end the process.
        this.on('error', () => {});
      }
    }
    const pool = new Pool({
      max: poolSize,
      idleTimeoutMillis: idleTimeoutMs,
      Client: TrackedClient as never,
    });
    pool.on('connect', (client) => this.#heardAt.set(client, clock.monotonicMs()));
    pool.on('error', (error) => logger.warn({ reason: error.message }, 'idle PostgreSQL connection lost'));
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
