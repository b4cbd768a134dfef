import { Lifecycle, type Rng, type Service, sleep } from '@millrace/foundation';
import type { RecoverAnswer } from '../lease.js';
import { jobFields } from '../rules/log-fields.js';
import type { PoolCounters } from './counters.js';
import type { PoolEnvironment } from './environment.js';
import { spread } from './fetcher.js';
import { Loop } from './loop.js';
import { report } from './report.js';

/** What one recovery did. */
export type Recovered = Omit<RecoverAnswer, 'more'>;

/** Takes jobs back whose lease has expired: whoever ran them is gone. */
export class OrphanRecovery implements Service {
  readonly #environment: PoolEnvironment & { readonly counters: PoolCounters };
  readonly #rng: Rng;
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;
  readonly #stopping = new AbortController();
  #recovery: Promise<Recovered> | undefined;

  /** @param environment - the pool's, with its counters. */
  constructor(environment: PoolEnvironment & { readonly counters: PoolCounters }) {
    const { clock, log, config } = environment;
    const { orphanRecoveryIntervalMs } = config.reliableQueue;
    this.#environment = environment;
    this.#rng = environment.rng.fork('orphan-recovery');
    this.#loop = new Loop({
      name: 'OrphanRecovery',
      clock,
      log,
      pauseAfterErrorMs: orphanRecoveryIntervalMs,
      step: async () => {
        await this.recoverOnce();
        return spread(orphanRecoveryIntervalMs, this.#rng);
      },
    });
    this.#lifecycle = new Lifecycle('OrphanRecovery', {
      start: () => this.#loop.start(),
      stop: () => this.#loop.stop(),
    });
  }

  /**
   * Begins to recover; once, however often it is called.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Recovers no more; resolves when the present batch has ended. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Recovers all leases that have expired by now, in batches; joins the recovery under way.
   * @returns how many leases were taken back, and which of their jobs are dead letters now.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  recoverOnce(): Promise<Recovered> {
    this.#recovery ??= this.#recoverAll().finally(() => {
      this.#recovery = undefined;
    });
    return this.#recovery;
  }

  async #recoverAll(): Promise<Recovered> {
    const { store, config, clock } = this.#environment;
    const { orphanRecoveryBatchSize } = config.reliableQueue;
    let recovered = 0;
    const dead: Recovered['dead'][number][] = [];
    for (;;) {
      const randoms = Array.from({ length: orphanRecoveryBatchSize }, () => this.#rng.next());
      const answer = await store.leases.recover(randoms);
      this.#note(answer);
      recovered += answer.recovered;
      dead.push(...answer.dead);
      if (!answer.more || this.#stopping.signal.aborted) return { recovered, dead };
      // A turn for everybody else between two batches.
      await sleep(clock, 0, this.#stopping.signal);
    }
  }

  #note({ recovered, dead }: RecoverAnswer): void {
    const { counters, log } = this.#environment;
    counters.orphansRecovered += recovered;
    counters.deadLetters += dead.length;
    if (recovered > 0) {
      const fields = { recovered, dead: dead.length };
      report(log, 'warn', fields, `Expired leases taken back: ${recovered}`);
    }
    for (const job of dead) {
      const fields = { ...jobFields(job), code: 'ORPHANED' };
      report(log, 'error', fields, 'Dead letter: the lease of the job expired too often');
    }
  }
}
