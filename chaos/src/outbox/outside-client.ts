import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import pg from 'pg';
import { accountNames, CHANGE_ACCOUNT } from './accounts.js';
import { APPLICATION } from './settings.js';

/** Those of the processes that wait for a lock of this backend. */
const WAITING = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE application_name LIKE $1 || '%' AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
/** All the others, and so whatever one that waits for the first one holds. */
const CHANGE_OTHERS = 'UPDATE account SET changes = changes + 1 WHERE name <> $1';

const LOOK_EVERY_MS = 5;
/** Handlers are to come through in between. */
const REST_MS = 50;
/** When nobody comes for an account for so long, another one is tried. */
const WAITS_MS = 250;
/** So late that the other side finds the deadlock first, or so early that this one does. */
const FINDS_LATE_MS = 2000;
const FINDS_EARLY_MS = 1;

/**
 * Somebody who works on the same accounts as the handlers and knows nothing of them: takes one, waits until a handler wants it, and then wants
 * what that handler has. Everything is rolled back, so nothing of it is counted.
 */
export class OutsideClient {
  readonly #url: string;
  readonly #rng: Rng;
  readonly #names: readonly string[];
  #met = 0;
  #deadlocked = 0;

  /** @param accounts - how many there are. */
  constructor(url: string, rng: Rng, accounts: number) {
    this.#names = accountNames(accounts);
    this.#url = url;
    this.#rng = rng;
  }

  /** How often a handler waited for it. */
  get met(): number {
    return this.#met;
  }

  /** How often it was the one that PostgreSQL chose to end a deadlock. */
  get deadlocked(): number {
    return this.#deadlocked;
  }

  /** Meddles until it is told to end. */
  async meddle(isOn: () => boolean): Promise<void> {
    while (isOn()) {
      const client = new pg.Client({
        connectionString: this.#url,
        connectionTimeoutMillis: 2000,
        query_timeout: 10_000,
      });
      client.on('error', () => {}); // Told by the call that fails.
      try {
        await client.connect();
        for (; isOn(); await wait(REST_MS)) await this.#meet(client);
      } catch {
        await wait(LOOK_EVERY_MS); // PostgreSQL may be frozen just now.
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  /** Both sides are to be chosen by PostgreSQL by turns, this one first. */
  async #meet(client: pg.Client): Promise<void> {
    const account = this.#rng.pick(this.#names);
    const findsEarly = this.#deadlocked === 0 || this.#met % 2 === 0;
    await client.query('BEGIN');
    try {
      await client.query(`SET LOCAL deadlock_timeout = ${findsEarly ? FINDS_EARLY_MS : FINDS_LATE_MS}`);
      await client.query(CHANGE_ACCOUNT, [account]);
      if (!(await this.#isWaitedFor(client))) return;
      this.#met += 1;
      await client.query(CHANGE_OTHERS, [account]);
    } catch (error) {
      if ((error as { code?: unknown }).code !== '40P01') throw error;
      this.#deadlocked += 1;
    } finally {
      await client.query('ROLLBACK');
    }
  }

  async #isWaitedFor(client: pg.Client): Promise<boolean> {
    for (const until = performance.now() + WAITS_MS; performance.now() < until; await wait(LOOK_EVERY_MS)) {
      const { rows } = await client.query<{ count: number }>(WAITING, [APPLICATION]);
      if ((rows[0]?.count ?? 0) > 0) return true;
    }
    return false;
  }
}
