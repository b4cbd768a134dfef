import { wait } from '@millrace/async-utils';
import { BulkActionEngine, hasEnded, resolveBulkActionConfig } from '@millrace/bulk-action';
import { openRedisStore } from '@millrace/bulk-action/redis';
import { type Rng, toWorkError } from '@millrace/foundation';
import { defineDag, Outbox, task } from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import { until } from '@millrace/testkit';
import { KEY_PREFIX } from '../bulk/settings.js';
import { asking } from '../postgres.js';
import { ROLLING_DAG, rollingDag } from './dag.js';
import { ROLLING_PROCESSOR, type RollingScale, rollingConfig } from './settings.js';
import type { RollingWorld } from './world.js';

/** What was acknowledged. */
export interface HandedIn {
  readonly group: string;
  readonly jobs: number;
  readonly batch: string;
}

const AGAIN_MS = 50;
const AGAIN_FOR_MS = 5000;

/** Callers of the old release, who hand in work all the while. */
export class RollingCallers implements AsyncDisposable {
  readonly handedIn: HandedIn[] = [];
  /** Calls that had to be made again, by what was said. */
  readonly refusals: Record<string, number> = {};
  readonly engine: BulkActionEngine;
  readonly #world: RollingWorld;
  readonly #rng: Rng;
  readonly #scale: RollingScale;
  readonly #database: PgDatabase;
  readonly #outbox: Outbox;

  /**
   * @param scale - how often.
   * @param size - 1 for the full run.
   */
  constructor(world: RollingWorld, rng: Rng, scale: RollingScale, size: number) {
    this.#world = world;
    this.#rng = rng;
    this.#scale = scale;
    const config = { ...rollingConfig(size), workerPool: { enabled: false } };
    const place = { url: world.redis.url, keyPrefix: KEY_PREFIX };
    const store = openRedisStore(resolveBulkActionConfig(config), place);
    this.engine = new BulkActionEngine({ config, store });
    this.#database = new PgDatabase({ url: world.postgres.url, poolSize: 4 });
    const dag = rollingDag({ defineDag, task }, { load: async () => {}, row: async () => {} });
    this.#outbox = new Outbox({ database: this.#database, dags: [dag], poll: false });
  }

  /** Opens the connections. */
  async start(): Promise<void> {
    await Promise.all([this.engine.start(), this.#outbox.start()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.engine.stop(), this.#outbox.stop()]);
    await this.#database.stop();
  }

  /** Hands in a group and a batch again and again. */
  async run(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.handIn();
      await wait(this.#scale.groupEveryMs, { signal: over }).catch(() => {});
    }
  }

  /**
   * Hands in a group and a batch.
   * @param ms - of each job; drawn unless given.
   */
  async handIn(ms?: number): Promise<HandedIn> {
    const n = this.handedIn.length;
    const work = {
      group: `group-${n}`,
      jobs: this.#rng.integer(...this.#scale.jobsPerGroup),
      batch: `day-${n}`,
    };
    const jobs = Array.from({ length: work.jobs }, (_, job) => ({
      id: `job-${job}`,
      processorType: ROLLING_PROCESSOR,
      payload: { ms: ms ?? this.#rng.integer(5, 60), failsFirst: job % 9 === 4 },
    }));
    await this.#insist(() => this.engine.service.submitBulk({ id: work.group }, jobs));
    await this.#insist(() => this.#outbox.pusher.start(ROLLING_DAG, work.batch, {}));
    this.handedIn.push(work);
    return work;
  }

  /** Asks again, with the same ids, whatever was not acknowledged, as a customer's program would. */
  async #insist(call: () => Promise<unknown>): Promise<void> {
    for (const end = performance.now() + AGAIN_FOR_MS; ; ) {
      try {
        await call();
        return;
      } catch (error) {
        const { code, message } = toWorkError(error);
        const said = `${code}: ${message}`.slice(0, 120);
        this.refusals[said] = (this.refusals[said] ?? 0) + 1;
        if (performance.now() > end) throw error;
        await wait(AGAIN_MS);
      }
    }
  }

  /** Waits until all that was handed in has ended. */
  async allEnded(): Promise<void> {
    const { postgres } = this.#world;
    const open = new Set(this.handedIn.map(({ group }) => group));
    const isOver = async () => {
      for (const id of open) {
        const { status } = await this.engine.service.getGroup(id);
        if (!hasEnded(status)) return false;
        open.delete(id);
      }
      const { rows } = await asking(postgres.url, (client) =>
        client.query("SELECT 1 FROM millrace.batch_instance WHERE status = 'RUNNING' LIMIT 1"),
      );
      return rows.length === 0;
    };
    const deadlineMs = this.#scale.doneWithinMs;
    await until(isOver, { what: 'every group and batch to end', deadlineMs, intervalMs: 50 });
  }
}
