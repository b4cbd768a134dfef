import { Lifecycle, type Rng, type Service, sleep } from '@millrace/foundation';
import type { LookAnswer } from '../ports.js';
import { groupFields } from '../rules/log-fields.js';
import type { PoolCounters } from './counters.js';
import type { PoolEnvironment } from './environment.js';
import { spread } from './fetcher.js';
import { Loop } from './loop.js';
import { report } from './report.js';

/** Groups one look ends or passes at most. */
const LOOK_BATCH = 100;
/** Reconciliations in one cycle: a net, so it may take its time over 100,000 groups. */
const RECONCILE_CALLS = 10;
/** Groups in each: two of 1,000 jobs hold Redis up for 4 ms, 2 µs a job as measured. */
const RECONCILE_BATCH = 2;

/** What one cycle of the watcher did. */
export interface Watched {
  /** Groups that it ended, and why. */
  readonly timedOut: LookAnswer['timedOut'];
  /** Groups whose counters it put right. */
  readonly repaired: number;
}

/** Ends groups that would never end by themselves, and compares some groups with their entries in every cycle. */
export class Watcher implements Service {
  readonly #environment: PoolEnvironment & { readonly counters: PoolCounters };
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;
  readonly #stopping = new AbortController();
  #cycle: Promise<Watched> | undefined;
  /** Where reconciliation goes on. */
  #cursor: string | undefined;

  /** @param environment - the pool's, with its counters. */
  constructor(environment: PoolEnvironment & { readonly counters: PoolCounters }) {
    const { clock, log, config } = environment;
    const { intervalMs } = config.watcher;
    const own: Rng = environment.rng.fork('watcher');
    this.#environment = environment;
    this.#loop = new Loop({
      name: 'Watcher',
      clock,
      log,
      pauseAfterErrorMs: intervalMs,
      step: async () => {
        await this.watchOnce();
        return spread(intervalMs, own);
      },
    });
    this.#lifecycle = new Lifecycle('Watcher', { start: () => this.#open(), stop: () => this.#close() });
  }

  /**
   * Begins to watch; once, however often it is called.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Watches no more; resolves when the present step has ended. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * One cycle: ends all groups that are overdue by now, and reconciles the next few; joins the cycle under way.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  watchOnce(): Promise<Watched> {
    this.#cycle ??= this.#watch().finally(() => {
      this.#cycle = undefined;
    });
    return this.#cycle;
  }

  #open(): void {
    const { log, config } = this.#environment;
    const { intervalMs } = config.watcher;
    this.#loop.start();
    report(log, 'info', { intervalMs, batch: LOOK_BATCH }, 'Watcher started');
  }

  async #close(): Promise<void> {
    await this.#loop.stop();
    report(this.#environment.log, 'info', {}, 'Watcher stopped');
  }

  async #watch(): Promise<Watched> {
    const timedOut = await this.#lookAll();
    return { timedOut, repaired: await this.#reconcileSome() };
  }

  async #lookAll(): Promise<Watched['timedOut']> {
    const { store, clock, log } = this.#environment;
    const { signal } = this.#stopping;
    const timedOut: Watched['timedOut'][number][] = [];
    for (;;) {
      const answer = await store.watch.look(LOOK_BATCH);
      timedOut.push(...answer.timedOut);
      for (const { key, code, traceparent } of answer.timedOut) {
        const fields = { ...groupFields(key, traceparent), status: 'FAILED', code };
        report(log, 'info', fields, 'Group ended: FAILED');
      }
      if (!answer.more || signal.aborted) return timedOut;
      // A turn for everybody else between two steps.
      await sleep(clock, 0, signal);
    }
  }

  async #reconcileSome(): Promise<number> {
    const { store, counters, log } = this.#environment;
    let repaired = 0;
    for (let calls = 0; calls < RECONCILE_CALLS && !this.#stopping.signal.aborted; calls++) {
      const answer = await store.watch.reconcile(RECONCILE_BATCH, this.#cursor);
      this.#cursor = answer.cursor;
      repaired += answer.repaired;
      counters.repaired += answer.repaired;
      if (answer.repaired > 0) {
        const fields = { repaired: answer.repaired, looked: answer.looked };
        report(
          log,
          'warn',
          fields,
          `Groups whose counters were wrong have been repaired: ${answer.repaired}`,
        );
      }
      // The next cycle begins with the first group again.
      if (this.#cursor === undefined) break;
    }
    return repaired;
  }
}
