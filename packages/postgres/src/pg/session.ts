import type { Clock } from '@millrace/foundation';
import type pg from 'pg';
import type { QueryOptions } from '../database.js';
import type { Session, SessionResult } from '../driver.js';
import { ERRORS } from '../errors.js';
import { endsConnection } from '../failure.js';
import { destroyClient, gatherWrites } from './client.js';

/** The pool that a session came from. */
export interface SessionPool {
  readonly clock: Clock;
  readonly prepare: boolean;
  /** By client, since a session is only one use of it. */
  readonly serverLives: WeakMap<pg.PoolClient, string>;
  /** PostgreSQL has answered on this client. */
  onReply(client: pg.PoolClient): void;
  /** A client is gone or silent. Clients that have been silent for longer may be too. */
  onConnectionLost(error: unknown): void;
}

/** A connection of the pool while one caller uses it. */
export class PgSession implements Session {
  readonly #client: pg.PoolClient;
  readonly #pool: SessionPool;
  readonly #onEnd = () => this.#lost(new Error('Connection terminated unexpectedly'));
  readonly #onError = (error: unknown) => this.#lost(error);
  #lostListener: (reason: unknown) => void = () => {};
  #inUse = true;
  #usable = true;

  constructor(client: pg.PoolClient, pool: SessionPool) {
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
      ...(name !== undefined && this.#pool.prepare && { name }),
    };
    return this.#within(() => this.#client.query(statement), timeoutMs, signal).then(toResult);
  }

  script(sql: string, { timeoutMs }: { readonly timeoutMs?: number | undefined } = {}) {
    return this.#within<pg.QueryResult | pg.QueryResult[]>(() => this.#client.query(sql), timeoutMs).then(
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

  #within<T>(send: () => Promise<T>, timeoutMs?: number, signal?: AbortSignal): Promise<T> {
    const { clock } = this.#pool;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        settled();
        if (endsConnection(error)) {
          this.#usable = false;
          this.#pool.onConnectionLost(error);
        }
        reject(error);
      };
      // pg's own limit would leave the statement running, and its reply to the next caller. Destroy the socket.
      const cut = (error: unknown) => {
        this.#usable = false;
        destroyClient(this.#client);
        fail(error);
      };
      const onTimeout = () => {
        const details = { what: 'The statement', timeoutMs: Math.round(timeoutMs ?? 0) };
        cut(ERRORS.create('DATABASE_TIMEOUT', details));
      };
      const cancel = timeoutMs === undefined ? () => {} : clock.setTimer(Math.max(0, timeoutMs), onTimeout);
      const onAbort = () => cut(signal?.reason);
      const settled = () => {
        cancel();
        signal?.removeEventListener('abort', onAbort);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      gatherWrites(this.#client);
      send().then((result) => {
        settled();
        this.#pool.onReply(this.#client);
        resolve(result);
      }, fail);
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
