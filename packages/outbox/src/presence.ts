import { type Loop, loop } from '@millrace/foundation';
import type { Kit } from './kit.js';
import type { WorkerView } from './model.js';
import { workerIdOf } from './options.js';

/** The reports of workers. */
export interface WorkerStore {
  /** Stores that a worker is alive. */
  noteWorker(worker: Pick<WorkerView, 'workerId' | 'dags' | 'concurrency'>): Promise<void>;
  /** Deletes workers that are long dead, and one that ends. */
  forgetWorkers(workerId?: string): Promise<void>;
  /** Lists workers. One counts as alive if it reported within `aliveMs`. */
  listWorkers(aliveMs: number): Promise<WorkerView[]>;
  /** Stores which versions a running instance has. Returns those that are stored. */
  keepDags(versions: readonly number[]): Promise<readonly number[]>;
}

/** A worker counts as dead after three missed reports. */
const REPORT_EVERY_MS = 10_000;
const ALIVE_MS = 3 * REPORT_EVERY_MS;

/** Versions are kept for at least a day after the last report. */
const KEEP_EVERY_MS = 3_600_000;

/** Reports that this instance is alive, for lists of workers, and which versions of DAGs it has, so that they are kept. */
export class Presence {
  readonly #kit: Kit;
  readonly #workers: WorkerStore;
  readonly #reporting: Loop;
  readonly #keeping: Loop;

  constructor(kit: Kit, workers: WorkerStore) {
    this.#kit = kit;
    this.#workers = workers;
    const { options } = kit;
    const unref = { unref: true };
    this.#reporting = loop(options, 'Report this worker', REPORT_EVERY_MS, () => this.#report(), unref);
    const name = 'Keep the versions in use and delete dead workers';
    this.#keeping = loop(options, name, KEEP_EVERY_MS, () => this.#keep(), unref);
  }

  /** Starts the reports. Only an instance that runs tasks is listed as a worker. */
  start(): void {
    if (this.#kit.options.poll) this.#reporting.start();
    this.#keeping.start();
  }

  /** Ends the reports and removes this worker from the list. */
  async stop(): Promise<void> {
    await Promise.all([this.#reporting.stop(), this.#keeping.stop()]);
    if (this.#kit.options.poll) await this.#workers.forgetWorkers(workerIdOf(this.#kit.options));
  }

  /** Lists the workers of all instances. */
  list(): Promise<readonly WorkerView[]> {
    return this.#workers.listWorkers(ALIVE_MS);
  }

  #report(): Promise<void> {
    const { concurrency } = this.#kit.options;
    return this.#workers.noteWorker({
      workerId: workerIdOf(this.#kit.options),
      dags: this.#kit.registry.names,
      concurrency,
    });
  }

  async #keep(): Promise<void> {
    await this.#workers.forgetWorkers();
    const { versions } = this.#kit.registry;
    if (versions.length === 0) return;
    const stored = new Set(await this.#workers.keepDags(versions));
    // This instance was suspended so long that its versions were deleted.
    if (versions.some((version) => !stored.has(version))) await this.#kit.registry.save();
  }
}
