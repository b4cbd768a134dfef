import type { PGlite, Results } from '@electric-sql/pglite';
import type { QueryOptions, Row } from '../database.js';
import type { Session, SessionResult } from '../session.js';
import type { Breather } from './breather.js';

/** The session of PGlite while one caller has its turn. */
export class PgliteSession implements Session {
  serverLife: string | undefined;
  readonly #pglite: PGlite;
  readonly #breather: Breather;
  readonly #giveBack: () => void;
  #tail: Promise<unknown> = Promise.resolve();
  #lostListener: (reason: unknown) => void = () => {};
  #given = true;

  constructor(pglite: PGlite, breather: Breather, giveBack: () => void) {
    this.#pglite = pglite;
    this.#breather = breather;
    this.#giveBack = giveBack;
  }

  run(
    sql: string,
    values: readonly (string | null)[],
    { signal }: QueryOptions = {},
  ): Promise<SessionResult> {
    // No deadline: a statement runs inside this thread, and nothing else does meanwhile.
    return this.#inTurn(async () => {
      signal?.throwIfAborted();
      return toResult(await this.#pglite.query<Row>(sql, values as (string | null)[]));
    });
  }

  script(sql: string): Promise<SessionResult[]> {
    return this.#inTurn(async () => (await this.#pglite.exec(sql)).map((result) => toResult(result)));
  }

  onLost(listener: (reason: unknown) => void): void {
    this.#lostListener = listener;
  }

  release(): void {
    if (!this.#given) return;
    this.#given = false;
    this.#lostListener = () => {};
    this.#giveBack();
  }

  /** The session cannot be destroyed: it is cleaned behind the statement that still runs. */
  discard(): void {
    if (!this.#given) return;
    this.#lostListener = () => {};
    this.#inTurn(() => this.#pglite.exec('ROLLBACK')).then(
      () => this.release(),
      () => this.release(),
    );
  }

  /** Ends the turn under its holder. */
  lose(reason: unknown): void {
    this.#lostListener(reason);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(async () => {
      await this.#breather.breathe();
      try {
        return await work();
      } catch (error) {
        throw withoutParameters(error);
      }
    });
    this.#tail = turn.catch(() => {});
    return turn;
  }
}

function toResult(result: Results<unknown>): SessionResult {
  const { rows, rowCount = 0, command = '' } = result as Results<Row>;
  return { rows, rowCount, command };
}

/** PGlite hangs statement and parameters onto its errors, and loggers would write them down. */
function withoutParameters(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) {
    for (const key of ['query', 'params', 'queryOptions']) Reflect.deleteProperty(error, key);
  }
  return error;
}
