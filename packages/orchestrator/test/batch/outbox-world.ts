import { NonRetryableError } from '@millrace/foundation';
import { type Batch, defineDag, migrateOutbox, Outbox, type OutboxSetup, task } from '@millrace/outbox';
import { type Database, PgDatabase, PgliteDatabase } from '@millrace/postgres';
import { type Latch, latch, pgliteFolder, postgresSandbox, until } from '@millrace/testkit';
import { Envelope, OpId } from '../../src/index.js';

/** Long enough for a loaded machine; nothing waits for its end unless something is wrong. */
export const DEADLINE_MS = 15_000;

/** What a batch of the tests does. */
export interface Orders {
  readonly fail?: boolean;
  /** Until `mayEnd` of this name is opened. */
  readonly hold?: string;
  readonly size?: number;
}

export type Kind = Database['kind'];
export const KINDS: readonly Kind[] = ['pglite', 'postgres'];

/** One database with the tables of an outbox and of effects in it, for all tests of a file. */
export class OutboxWorld implements AsyncDisposable {
  readonly database: Database;
  readonly #opened: Outbox[] = [];
  readonly #drop: () => unknown;
  readonly #holds = new Map<string, Latch<void>>();

  private constructor(database: Database, drop: () => unknown) {
    this.database = database;
    this.#drop = drop;
  }

  static async open(kind: Kind): Promise<OutboxWorld> {
    const world = kind === 'pglite' ? await onPglite() : await onPostgres();
    await world.database.start();
    await world.database.query('CREATE TABLE effect (biz_key text NOT NULL)');
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const hold of this.#holds.values()) hold.open();
    await Promise.all(this.#opened.map((outbox) => outbox.stop()));
    await this.database.stop();
    await this.#drop();
  }

  static make(database: Database, drop: () => unknown): OutboxWorld {
    return new OutboxWorld(database, drop);
  }

  /** A name to hold batches under. */
  newHold(): string {
    return `hold ${this.#holds.size + 1}`;
  }

  /** Lets batches end that hold under a name. */
  mayEnd(name: string): Latch<void> {
    const hold = this.#holds.get(name) ?? latch(`batches that hold for ${name} may end`);
    this.#holds.set(name, hold);
    return hold;
  }

  /** The DAG of the tests: `pay` does as the payload says, and writes one effect. */
  dag(name: string) {
    return defineDag(name, {
      load: task({ run: () => 'loaded' }),
      pay: task<Orders | null>({
        after: ['load'],
        run: async ({ tx, payload, batch }) => {
          await tx.query('INSERT INTO effect (biz_key) VALUES ($1)', [batch.bizKey]);
          if (payload?.fail) throw new NonRetryableError('as the test wants');
          return { paid: 'x'.repeat(payload?.size ?? 1) };
        },
      }),
      wait: task<Orders | null>({
        mode: 'external',
        run: async ({ payload }) => {
          if (payload?.hold) await this.mayEnd(payload.hold).promise;
        },
      }),
    });
  }

  /** A started outbox with the DAG `settle`, on tables of its own: whatever has no listener would end others' batches without telling. */
  async settling(schema: string, setup: Partial<OutboxSetup> = {}): Promise<Outbox> {
    await migrateOutbox(this.database, { schema });
    const outbox = this.outbox('settle', { ...setup, schema });
    await outbox.start();
    return outbox;
  }

  /** An outbox that has one DAG. It stops with the world. */
  outbox(dag: string, setup: Partial<OutboxSetup> = {}): Outbox {
    const { database } = this;
    const outbox = new Outbox({ database, dags: [this.dag(dag)], pollIntervalMs: 20, ...setup });
    this.#opened.push(outbox);
    return outbox;
  }

  /** Waits for the end of a batch. */
  ended(outbox: Outbox, id: string): Promise<Batch> {
    return until(
      async () => {
        const batch = await outbox.batches.get(id);
        return batch.status !== 'RUNNING' && batch;
      },
      { what: `batch ${id} to end`, deadlineMs: DEADLINE_MS, intervalMs: 20 },
    );
  }

  /** How often the effect of a batch has happened. */
  async effects(bizKey: string): Promise<number> {
    const { rows } = await this.database.query('SELECT 1 FROM effect WHERE biz_key = $1', [bizKey]);
    return rows.length;
  }
}

async function onPglite(): Promise<OutboxWorld> {
  const folder = await pgliteFolder(async (dataDir) => {
    await using database = new PgliteDatabase({ dataDir });
    await database.start();
  });
  return OutboxWorld.make(new PgliteDatabase({ dataDir: folder.dataDir }), () => folder[Symbol.dispose]());
}

async function onPostgres(): Promise<OutboxWorld> {
  const sandbox = await postgresSandbox();
  return OutboxWorld.make(new PgDatabase({ url: sandbox.url }), () => sandbox.drop());
}

/** What the tests of a suite share: a database, and an outbox on it that runs batches of the DAG `settle`. */
interface BatchHome {
  readonly world: OutboxWorld;
  readonly outbox: Outbox;
}

/** A theme of the tests of one kind of database. */
export type BatchSuite = (home: () => BatchHome, kind: Kind) => void;

let operations = 0;

/** A command of an operation on its way, with an id that no other test has. */
export function envelopeOf(payload: Orders, more: { tenant?: string; traceparent?: string } = {}): Envelope {
  const number = (++operations).toString(16).padStart(12, '0');
  const opId = OpId.of(`01980000-0000-7000-8000-${number}`);
  const command = { domain: 'DAY', eventType: 'CLOSE', bizKey: 'today', idemKey: opId, payload };
  return Envelope.now(opId, command, more);
}
