import type { SettleAnswer, Settlement } from '../lease.js';
import type { EndedTry, JobRun } from './run-job.js';
import type { Result } from './settler.js';

/** A try that has ended and whose result is on its way to the store. */
export class ReportedTry implements Result {
  readonly run: JobRun;
  readonly ended: EndedTry;
  readonly settlement: Settlement;
  readonly #onAnswer: (reported: ReportedTry, answer: SettleAnswer | undefined) => void;
  #stored = false;
  #whenStored: PromiseWithResolver | undefined;

  /**
   * @param run - the try.
   * @param ended - what came of it.
   * @param settlement - the same for the store.
   * @param onAnswer - told what the store said; must not throw.
   */
  constructor(
    run: JobRun,
    ended: EndedTry,
    settlement: Settlement,
    onAnswer: (reported: ReportedTry, answer: SettleAnswer | undefined) => void,
  ) {
    this.run = run;
    this.ended = ended;
    this.settlement = settlement;
    this.#onAnswer = onAnswer;
  }

  /** Whether the store has answered, or the pool has given up on it. */
  get stored(): boolean {
    return this.#stored;
  }

  /** Resolves when `stored` is true. Made only for who asks: nearly every result is stored before anybody does. */
  whenStored(): Promise<void> {
    if (this.#stored) return Promise.resolve();
    if (!this.#whenStored) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#whenStored = { promise, resolve };
    }
    return this.#whenStored.promise;
  }

  /** See Result. */
  answered(answer: SettleAnswer | undefined): void {
    this.#onAnswer(this, answer);
    this.#stored = true;
    this.#whenStored?.resolve();
  }
}

interface PromiseWithResolver {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}
