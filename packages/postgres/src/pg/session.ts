import type { Clock } from '@millrace/foundation';
import type pg from 'pg';
import type { QueryOptions } from '../database.js';
import { ERRORS } from '../errors.js';
import { endsConnection } from '../failure.js';
import type { Session, SessionResult } from '../session.js';
import { destroyClient, gatherWrites } from './settings.js';

/** What a session tells the pool it came from. */
export interface SessionHome {
  readonly clock: Clock;
  readonly prepare: boolean;
  /** Kept with the client, since a session is only one use of it. */
  readonly serverLives: WeakMap<pg.PoolClient, string>;
  /** PostgreSQL has answered on this client. */
  heard(client: pg.PoolClient): void;
  /** The client is gone or silent; others that have been silent for longer may be too. */
  suspect(error: unknown): void;
}

/** A connection of the pool while one caller has it. */
export class PgSession implements Session {
  readonly #client: pg.PoolClient;
  readonly #home: SessionHome;
  readonly #onEnd = () => this.#lost(new Error('Connection terminated unexpectedly'));
  readonly #onError = (error: unknown) => this.#lost(error);
  #lostListener: (reason: unknown) => void = () => {};
  #given = true;
  #usable = true;

  constructor(client: pg.PoolClient, home: SessionHome) {
    this.#client = client;
    this.#home = home;
    client.on('end', this.#onEnd);
    client.on('error', this.#onError);
  }

  get serverLife(): string | undefined {
    return this.#home.serverLives.get(this.#client);
  }

  set serverLife(life: string) {
    this.#home.serverLives.set(this.#client, life);
  }

  run(
    sql: string,
    values: readonly (string | null)[],
    { timeoutMs, signal, name }: QueryOptions = {},
  ): Promise<SessionResult> {
    const statement = {
      text: sql,
      values: values as (string | null)[],
      // Also without parameters: several statements in one text are refused as with PGlite.
      queryMode: 'extended',
      ...(name !== undefined && this.#home.prepare && { name }),
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
    this.#giveBack(!this.#usable);
  }

  discard(): void {
    this.#giveBack(true);
  }

  #within<T>(send: () => Promise<T>, timeoutMs?: number, signal?: AbortSignal): Promise<T> {
    const { clock } = this.#home;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        settled();
        this.#failed(error);
        reject(error);
      };
      // The socket is destroyed: pg's own limit leaves the statement running, and its reply for the next caller.
      const cut = (error: unknown) => {
        this.#usable = false;
        destroyClient(this.#client);
        fail(error);
      };
      const cancel =
        timeoutMs === undefined
          ? () => {}
          : clock.setTimer(Math.max(0, timeoutMs), () =>
              cut(
                ERRORS.create('DATABASE_TIMEOUT', {
                  what: 'The statement',
                  timeoutMs: Math.round(timeoutMs),
                }),
              ),
            );
      const onAbort = () => cut(signal?.reason);
      const settled = () => {
        cancel();
        signal?.removeEventListener('abort', onAbort);
      };
      if (signal?.aborted) {
        cancel();
        reject(signal.reason);
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      gatherWrites(this.#client);
      send().then((result) => {
        settled();
        this.#home.heard(this.#client);
        resolve(result);
      }, fail);
    });
  }

  #failed(error: unknown): void {
    if (!endsConnection(error)) return;
    this.#usable = false;
    this.#home.suspect(error);
  }

  #lost(reason: unknown): void {
    this.#usable = false;
    this.#lostListener(reason);
  }

  #giveBack(broken: boolean): void {
    if (!this.#given) return;
    this.#given = false;
    this.#lostListener = () => {};
    this.#client.off('end', this.#onEnd);
    this.#client.off('error', this.#onError);
    if (broken) destroyClient(this.#client);
    this.#client.release(broken);
  }
}

function toResult({ rows, rowCount, command }: pg.QueryResult): SessionResult {
  return { rows, rowCount: rowCount ?? 0, command };
}
