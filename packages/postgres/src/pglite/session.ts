import { setImmediate as nextRound } from 'node:timers/promises';
import type { PGlite, Results } from '@electric-sql/pglite';
import type { QueryOptions, Row } from '../database.js';
import type { Session, SessionResult } from '../driver.js';

/** Longest time that statements follow each other before timers, signals and sockets get their turn. */
const YIELD_EVERY_MS = 5;

/**
 * Yields to the event loop between statements. PGlite computes in this thread and answers without a turn of the loop: a caller that queries in a loop
 * would block every timer, signal and request.
 */
export class EventLoopYield {
  #lastAt = performance.now();

  /** Goes once round the event loop if that is due. */
  async whenDue(): Promise<void> {
    if (performance.now() - this.#lastAt < YIELD_EVERY_MS) return;
    await nextRound();
    this.#lastAt = performance.now();
  }
}

/** The session of PGlite while one caller uses it. */
export class PgliteSession implements Session {
  serverLife: string | undefined;
  readonly #pglite: PGlite;
  readonly #eventLoop: EventLoopYield;
  readonly #onRelease: () => void;
  #tail: Promise<unknown> = Promise.resolve();
  #lostListener: (reason: unknown) => void = () => {};
  #inUse = true;

  constructor(pglite: PGlite, eventLoop: EventLoopYield, onRelease: () => void) {
    this.#pglite = pglite;
    this.#eventLoop = eventLoop;
    this.#onRelease = onRelease;
  }

  run(
    sql: string,
    values: readonly (string | null)[],
    { signal }: QueryOptions = {},
  ): Promise<SessionResult> {
    // No deadline: a statement runs in this thread, and nothing else does meanwhile.
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
    if (!this.#inUse) return;
    this.#inUse = false;
    this.#lostListener = () => {};
    this.#onRelease();
  }

  /** Rolls back behind the statement that still runs: the only session cannot be destroyed. */
  discard(): void {
    if (!this.#inUse) return;
    this.#lostListener = () => {};
    this.#inTurn(() => this.#pglite.exec('ROLLBACK')).then(
      () => this.release(),
      () => this.release(),
    );
  }

  /** Ends the use under its caller. */
  lose(reason: unknown): void {
    this.#lostListener(reason);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(async () => {
      await this.#eventLoop.whenDue();
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

/** PGlite adds statement and parameters to its errors, and loggers would write them down. */
function withoutParameters(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) {
    for (const key of ['query', 'params', 'queryOptions']) Reflect.deleteProperty(error, key);
  }
  return error;
}
