import { Lifecycle, type Rng, type Service, withDeadline } from '@millrace/foundation';
import type { Aggregation } from '../aggregation.js';
import type { AggregatorRegistry } from '../aggregator.js';
import { Bell } from './bell.js';
import type { PoolEnvironment } from './environment.js';
import { spread } from './fetcher.js';
import { Loop } from './loop.js';
import { report } from './report.js';
import { AggregationRun } from './run-aggregation.js';

/** So many groups at once: a reduce that hangs must not hold up those of others. */
const RUNS_AT_ONCE = 8;
/** What runs when the pool stops may take this long; then its lock goes to another process. */
const STOP_GRACE_MS = 1000;

/** Adds up the results of groups whose jobs are done: claims, maps, reduces, writes the result. */
export class AggregationRunner implements Service {
  readonly #environment: PoolEnvironment & { readonly aggregators: AggregatorRegistry };
  readonly #rng: Rng;
  readonly #bell = new Bell();
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;
  readonly #runs = new Map<AggregationRun, Promise<void>>();
  /** Of the claim under way: asked again after a lost answer, it gets the same group. */
  #token: string | undefined;
  #endListening: () => void = () => {};

  /** @param environment - the pool's, with its aggregators. */
  constructor(environment: PoolEnvironment & { readonly aggregators: AggregatorRegistry }) {
    const { clock, log, rng } = environment;
    this.#environment = environment;
    this.#rng = rng.fork('aggregation');
    this.#loop = new Loop({
      name: 'AggregationRunner',
      clock,
      log,
      bell: this.#bell,
      step: (signal) => this.#claimAll(signal),
    });
    this.#lifecycle = new Lifecycle('AggregationRunner', {
      start: () => this.#open(),
      stop: () => this.#close(),
    });
  }

  /**
   * Begins to aggregate; once, however often it is called.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Claims no more; what runs has a second to end, then another process may have it. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #open(): void {
    const { store, config, log, aggregators } = this.#environment;
    const { intervalMs } = config.watcher;
    this.#endListening = store.wakeUps.listen('aggregate', () => this.#bell.ring());
    this.#loop.start();
    report(log, 'info', { intervalMs, types: aggregators.types }, 'AggregationRunner started');
  }

  async #close(): Promise<void> {
    this.#endListening();
    await this.#loop.stop();
    await withDeadline(this.#environment.clock, STOP_GRACE_MS, this.#allEnded());
    for (const run of this.#runs.keys()) run.stop();
    await this.#allEnded();
    report(this.#environment.log, 'info', {}, 'AggregationRunner stopped');
  }

  #allEnded(): Promise<unknown> {
    return Promise.all(this.#runs.values());
  }

  async #claimAll(signal: AbortSignal): Promise<number> {
    const { store, config, aggregators } = this.#environment;
    const { intervalMs, lockTtlMs } = config.watcher;
    while (aggregators.types.length > 0 && this.#runs.size < RUNS_AT_ONCE) {
      this.#bell.hush();
      const types = aggregators.hasDefault ? undefined : aggregators.types;
      this.#token ??= newToken(this.#rng);
      const token = this.#token;
      const { aggregation, nextInMs } = await store.aggregations.claim(token, lockTtlMs, types);
      this.#token = undefined;
      const latest = spread(intervalMs, this.#rng);
      if (!aggregation) return nextInMs === undefined ? latest : Math.min(latest, Math.max(1, nextInMs));
      this.#begin(aggregation, token);
      if (signal.aborted) break;
    }
    // The end of a run rings.
    return spread(intervalMs, this.#rng);
  }

  #begin(aggregation: Aggregation, token: string): void {
    const run = new AggregationRun(this.#environment, aggregation, token);
    const ended = run.run().then(() => {
      this.#runs.delete(run);
      this.#bell.ring();
    });
    this.#runs.set(run, ended);
  }
}

/**
 * Names one claim; nobody draws the same.
 * @param rng - of the process.
 */
export function newToken(rng: Rng): string {
  const part = () => rng.integer(0, 2 ** 52).toString(36);
  return `${part()}-${part()}`;
}
