import { WorkerState } from '../states.js';
import type { Worker } from './worker.js';

/** The workers of a pool: as many as wanted, and those that still finish their last job. */
export class Crew {
  readonly #hire: (id: string) => Worker;
  #workers: readonly Worker[] = [];
  #hired = 0;

  /** @param hire - makes a worker that is not started yet. */
  constructor(hire: (id: string) => Worker) {
    this.#hire = hire;
  }

  /** All of them, the oldest first. */
  get workers(): readonly Worker[] {
    return this.#workers;
  }

  /**
   * Starts or stops workers until `count` of them take jobs; idle ones go first, the others when their job has ended.
   * @param count - how many.
   */
  scale(count: number): void {
    const active = this.#workers.filter(({ state }) => state === WorkerState.RUNNING);
    const idleFirst = [...active].reverse().sort((a, b) => Number(isBusy(a)) - Number(isBusy(b)));
    for (const worker of idleFirst.slice(0, Math.max(0, active.length - count)))
      void worker.stop().then(() => this.#leave(worker));
    const added = Array.from({ length: Math.max(0, count - active.length) }, () =>
      this.#hire(`worker-${++this.#hired}`),
    );
    this.#workers = [...this.#workers, ...added];
    for (const worker of added) worker.start();
  }

  /** Lets every worker finish its job; they stay in the list. Resolves when all have stopped. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }

  #leave(worker: Worker): void {
    this.#workers = this.#workers.filter((one) => one !== worker);
  }
}

const isBusy = ({ currentJob }: Worker) => currentJob !== null;
