import { setTimeout as delay } from 'node:timers/promises';
import type { Outbox } from '@millrace/outbox';
import pg from 'pg';
import { payloadOf } from '../bulk/jobs.js';
import type { Gauge } from '../gauges.js';
import { ANY_BATCH_OPEN, emptyOutbox, flatDag, openOutbox } from './millrace.js';
import { administer, databaseUrl, drained } from './server.js';

const CONCURRENCY = 500;
/** Batches that are started before their turn: enough that no slot is ever without a task. */
const BATCHES_AHEAD = 4;
const LOOK_EVERY_MS = 2;

/** How long each part of a run takes. */
interface HoldBrief {
  readonly perBatch: number;
  /** Until everything is compiled and the caches are warm. */
  readonly settleMs: number;
  readonly holdMs: number;
  /** The stretch over which a rate is taken. */
  readonly windowMs: number;
}

/** Starts batches for ever and runs them. */
class Stream {
  readonly #outbox: Outbox;
  readonly #perBatch: number;
  readonly #stopping = new AbortController();
  readonly #fed: Promise<void>;
  #ended = 0;

  constructor(outbox: Outbox, dag: string, perBatch: number) {
    this.#outbox = outbox;
    this.#perBatch = perBatch;
    // Told when the end is written.
    outbox.events.on('task', ({ result }) => {
      if (result === 'done') this.#ended += 1;
    });
    this.#fed = this.#feed(dag);
    this.#fed.catch(() => {}); // Thrown by `stop`.
  }

  async #feed(dag: string): Promise<void> {
    for (let batch = 0; !this.#stopping.signal.aborted; ) {
      if (batch * this.#perBatch - this.#ended >= BATCHES_AHEAD * this.#perBatch) await delay(LOOK_EVERY_MS);
      else {
        await this.#outbox.pusher.start(dag, `batch-${batch}`, payloadOf(batch));
        batch += 1;
      }
    }
  }

  /** Tasks ended per second, over so long from now; on a machine that is busy until one has ended. */
  async rateOver(ms: number): Promise<number> {
    const [before, since] = [this.#ended, performance.now()];
    do await delay(ms);
    while (this.#ended === before);
    return ((this.#ended - before) * 1000) / (performance.now() - since);
  }

  /** Starts no more, and waits for those that were started. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#fed;
    await drained(ANY_BATCH_OPEN);
  }
}

/** A transaction that has a snapshot: nothing that was deleted or changed since can be removed. */
async function holdSnapshot(): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: await databaseUrl() });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM millrace.batch_instance');
  return { release: () => client.end() };
}

/** How much slower tasks become while somebody else's transaction keeps vacuum from removing what is dead. */
export const heldSnapshot = ({ perBatch, settleMs, holdMs, windowMs }: HoldBrief): Gauge => ({
  work: `a snapshot held for ${holdMs / 1000} s by another connection, batches of ${perBatch.toLocaleString('en')} tasks all the while`,
  runs: 1,
  readings: [
    { name: `before it, over ${windowMs / 1000} s`, unit: 'tasks/s' },
    { name: 'its beginning', unit: 'tasks/s' },
    { name: 'its end', unit: 'tasks/s' },
    { name: 'after it', unit: 'tasks/s' },
    { name: 'its end ÷ before', unit: '×', least: 0.5, aim: 1 },
    { name: 'age of the oldest transaction, as outbox sees it at the end', unit: 's', least: holdMs / 1000 },
  ],
  async run() {
    await emptyOutbox();
    await administer('CHECKPOINT');
    const dag = flatDag(perBatch, { effect: false, onTask: () => {} });
    const { outbox, close } = await openOutbox({ concurrency: CONCURRENCY, dags: [dag] });
    try {
      await outbox.start();
      const stream = new Stream(outbox, dag.name, perBatch);
      await delay(settleMs);
      const before = await stream.rateOver(windowMs);
      const { release } = await holdSnapshot();
      const first = await stream.rateOver(windowMs);
      await delay(holdMs - 2 * windowMs);
      const last = await stream.rateOver(windowMs);
      const oldest = await outbox.vacuum.look();
      await release();
      const after = await stream.rateOver(windowMs);
      await stream.stop();
      return [before, first, last, after, last / before, (oldest?.ageMs ?? 0) / 1000];
    } finally {
      await close();
    }
  },
});
