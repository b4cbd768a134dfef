import { Repeating } from '@millrace/foundation';
import type { WorkerView } from './model.js';
import { type ResolvedOutboxOptions, workerIdOf } from './options.js';
import type { PruneStore } from './postgres/prune-store.js';
import type { WorkerStore } from './postgres/worker-store.js';
import type { DagRegistry } from './registry.js';

/** How often a worker says that it is there, and how often it may be missed. */
const NOTE_EVERY_MS = 10_000;
const ALIVE_MS = 3 * NOTE_EVERY_MS;

/** Versions are kept for a day at least after this was last said. */
const KEEP_EVERY_MS = 3_600_000;

/** Says that this instance is there: as a worker, for the people who watch; and which versions of DAGs it has, so that they are not forgotten. */
export class Presence {
  readonly #workers: WorkerStore;
  readonly #versions: PruneStore;
  readonly #registry: DagRegistry;
  readonly #options: ResolvedOutboxOptions;
  readonly #noting: Repeating;
  readonly #keeping: Repeating;

  constructor(
    parts: { readonly workers: WorkerStore; readonly versions: PruneStore; readonly registry: DagRegistry },
    options: ResolvedOutboxOptions,
  ) {
    this.#workers = parts.workers;
    this.#versions = parts.versions;
    this.#registry = parts.registry;
    this.#options = options;
    const { clock, rng, logger } = options;
    const repeating = (what: string, everyMs: number, work: () => Promise<void>) =>
      new Repeating({ clock, rng, logger, what, everyMs, unref: true }, work);
    this.#noting = repeating('Saying that this worker is there', NOTE_EVERY_MS, () => this.#note());
    this.#keeping = repeating('Keeping the versions in use and forgetting dead workers', KEEP_EVERY_MS, () =>
      this.#keep(),
    );
  }

  /** Begins to say so. */
  start(): void {
    if (this.#options.poll) this.#noting.start();
    this.#keeping.start();
  }

  /** Ends it; the worker is forgotten. */
  async stop(): Promise<void> {
    await Promise.all([this.#noting.stop(), this.#keeping.stop()]);
    if (this.#options.poll) await this.#workers.forget(workerIdOf(this.#options));
  }

  /** Who polls, of all instances. */
  list(): Promise<readonly WorkerView[]> {
    return this.#workers.list(ALIVE_MS);
  }

  #note(): Promise<void> {
    const { concurrency } = this.#options;
    return this.#workers.note({
      workerId: workerIdOf(this.#options),
      dags: this.#registry.names,
      concurrency,
    });
  }

  async #keep(): Promise<void> {
    await this.#workers.forget();
    const { versions } = this.#registry;
    if (versions.length === 0) return;
    const stored = new Set(await this.#versions.keepDags(versions));
    // This instance was away for so long that its versions were forgotten.
    if (versions.some((version) => !stored.has(version))) await this.#registry.save();
  }
}
