import { Repeating, sleep } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import type { ResolvedOutboxOptions } from './options.js';
import type { Pruned, PruneStore } from './postgres/prune-store.js';

/** A look that finds nothing costs nothing; how late a batch goes matters to nobody. */
const EVERY_MAX_MS = 60_000;
const EVERY_MIN_MS = 1_000;

/** Of one transaction; a batch that has more goes by itself, at once: half of one would be of no use to anybody. */
const TASKS_PER_STEP = 2_000;
const BATCHES_PER_STEP = 200;

/** Between two steps, for everybody else. */
const PAUSE_MS = 20;

/** For the largest batch on a busy server. */
const STEP_TIMEOUT_MS = 120_000;

/** However short batches are kept: an instance says once an hour which versions it has, and may sleep or be cut off for a while. */
const VERSION_KEPT_MIN_MS = 86_400_000;
const VERSIONS_PER_TURN = 20;

/** Forgets batches whose retention has passed, and versions of DAGs that nobody has any more. Any number of them may run. */
export class Pruner {
  readonly #store: PruneStore;
  readonly #database: Database;
  readonly #options: ResolvedOutboxOptions;
  readonly #repeating: Repeating;
  #stopping = new AbortController();

  constructor(store: PruneStore, options: ResolvedOutboxOptions) {
    this.#store = store;
    this.#database = options.database;
    this.#options = options;
    const { clock, rng, logger, retentionMs } = options;
    const everyMs = Math.max(EVERY_MIN_MS, Math.min(retentionMs / 10, EVERY_MAX_MS));
    this.#repeating = new Repeating({ clock, rng, logger, what: 'Pruning', everyMs }, () => this.#run());
  }

  /** Begins, unless everything is kept for ever. */
  start(): void {
    if (this.#options.retentionMs === 0) return;
    this.#stopping = new AbortController();
    this.#repeating.start();
  }

  /** Looks now. */
  now(): void {
    this.#repeating.now();
  }

  /** Ends it, after the step that is under way. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#repeating.stop();
  }

  async #run(): Promise<void> {
    const { clock, retentionMs, logger } = this.#options;
    let batches = 0;
    let tasks = 0;
    do {
      const step = await this.#step(retentionMs);
      batches += step.batches;
      tasks += step.tasks;
      if (step.batches === 0) break;
    } while (await sleep(clock, PAUSE_MS, this.#stopping.signal));
    if (batches > 0) logger.debug({ batches, tasks }, 'Batches were pruned');
    if (this.#stopping.signal.aborted) return;
    const keptMs = Math.max(retentionMs, VERSION_KEPT_MIN_MS);
    const versions = await this.#store.deleteOldDags(keptMs, VERSIONS_PER_TURN);
    if (versions.length > 0) logger.debug({ versions }, 'Versions of DAGs were forgotten');
  }

  #step(keptMs: number): Promise<Pruned> {
    return this.#database.transaction(
      async (tx) => {
        const ended = await this.#store.lockEnded(tx, keptMs, BATCHES_PER_STEP);
        let tasks = 0;
        const ids: string[] = [];
        for (const { id, taskCount } of ended) {
          tasks += taskCount;
          if (ids.length > 0 && tasks > TASKS_PER_STEP) break;
          ids.push(id);
        }
        return ids.length === 0 ? { batches: 0, tasks: 0 } : this.#store.deleteBatches(tx, ids);
      },
      { retries: 3, timeoutMs: STEP_TIMEOUT_MS },
    );
  }
}
