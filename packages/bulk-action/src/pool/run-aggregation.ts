import { bytesBeyond, type Clock, encodeJson, type Logger, sleep, toWorkError } from '@millrace/foundation';
import { AGGREGATION_PAUSE_MS, type Aggregation, type StoredResult } from '../aggregation.js';
import type { AggregationContext, Aggregator, AggregatorRegistry } from '../aggregator.js';
import { ERRORS } from '../errors.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { type BulkStore } from '../ports.js';
import { groupIdOf } from '../rules/ids.js';
import { groupFields } from '../rules/log-fields.js';
import { report } from './report.js';

/** What aggregations work with. */
export interface AggregationEnvironment {
  readonly store: Pick<BulkStore, 'aggregations'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'watcher' | 'limits'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly aggregators: AggregatorRegistry;
}

/**
 * done: this run's value is the group's. again, failed: it threw. lost: the group was cancelled, or another run has it.
 * released: this run gave up and changed nothing.
 */
export type AggregationOutcome = 'done' | 'again' | 'failed' | 'lost' | 'released';

/** Results in memory at once. */
export const RESULTS_PAGE = 200;

/** How often the end of a run is told to a store that does not answer: after that its lock expires. */
const TELL_TRIES = 3;

/** What reducing came to. `unreachable`: the store failed, which is nobody's fault here. */
type Made =
  | { readonly json: string | undefined }
  | { readonly failure: string; readonly cause?: unknown }
  | { readonly unreachable: unknown }
  | { readonly interrupted: 'lost' | 'stopped' };

/**
 * Adds up the results of one group whose lock it holds, and keeps that lock.
 *
 * ```
 *   claimed ──map, reduce──▶ finish ──▶ done          (or lost: somebody else was faster)
 *      ├──threw, or no JSON──▶ fail ──▶ again, failed  (or lost)
 *      ├──lock lost──────────▶ lost      what reduce still does is ignored: the token is worth nothing
 *      └──stop()─────────────▶ released  the lock is given back
 * ```
 */
export class AggregationRun {
  readonly #environment: AggregationEnvironment;
  readonly #aggregation: Aggregation;
  readonly #token: string;
  readonly #interrupted: Promise<Made>;
  #interrupt: (made: Made) => void = () => {};
  #over = false;

  /**
   * @param environment - see AggregationEnvironment.
   * @param aggregation - as it was claimed.
   * @param token - of the claim.
   */
  constructor(environment: AggregationEnvironment, aggregation: Aggregation, token: string) {
    this.#environment = environment;
    this.#aggregation = aggregation;
    this.#token = token;
    this.#interrupted = new Promise((resolve) => {
      this.#interrupt = resolve;
    });
  }

  /** Gives up, and the lock back. */
  stop(): void {
    this.#interrupt({ interrupted: 'stopped' });
  }

  /**
   * Runs to its end, once.
   * @returns what it came to; a store that does not answer is no error, the lock expires then.
   */
  async run(): Promise<AggregationOutcome> {
    const stopRenewing = this.#keepLock();
    try {
      // What a reduce that nobody waits for any more comes to is ignored, a failure too.
      const made = await Promise.race([this.#make(), this.#interrupted]);
      this.#over = true;
      return await this.#tell(made);
    } catch (error) {
      return this.#giveUp(error);
    } finally {
      this.#over = true;
      stopRenewing();
    }
  }

  /** Renews until told to stop. A store that fails is asked again after the next third. */
  #keepLock(): () => void {
    const { store, clock, config } = this.#environment;
    const { key, round } = this.#aggregation;
    const { lockTtlMs } = config.watcher;
    let ended = false;
    let cancel = () => {};
    const renew = async () => {
      const held = await store.aggregations.renew(key, round, this.#token, lockTtlMs).catch(() => true);
      if (ended) return;
      if (held) schedule();
      else this.#interrupt({ interrupted: 'lost' });
    };
    const schedule = () => {
      cancel = clock.setTimer(Math.max(1, Math.floor(lockTtlMs / 3)), () => void renew());
    };
    schedule();
    return () => {
      ended = true;
      cancel();
    };
  }

  /** One value of one type, else an object of values by type. */
  async #make(): Promise<Made> {
    const { types } = this.#aggregation;
    const values: string[] = [];
    for (const type of types) {
      const aggregator = this.#environment.aggregators.get(type);
      if (!aggregator) return { unreachable: this.#error(`there is no aggregator for '${type}' here`) };
      const made = await this.#reduce(type, aggregator);
      if (!('json' in made) || types.length === 1) return made;
      if (made.json !== undefined) values.push(`${JSON.stringify(type)}:${made.json}`);
    }
    return { json: `{${values.join(',')}}` };
  }

  async #reduce(type: string, aggregator: Aggregator): Promise<Made> {
    // A reduce may swallow what its source throws: the value would be one of a part of the results.
    const trouble: { made?: Made } = {};
    const results = { [Symbol.asyncIterator]: () => this.#mapped(type, aggregator, trouble) };
    let value: unknown;
    try {
      value = await aggregator.reduce(results, this.#context());
    } catch (thrown) {
      return trouble.made ?? failureOf(thrown);
    }
    return trouble.made ?? this.#encoded(value);
  }

  async *#mapped(type: string, aggregator: Aggregator, trouble: { made?: Made }): AsyncGenerator<unknown> {
    const { aggregations } = this.#environment.store;
    let cursor: string | undefined;
    do {
      if (this.#over) throw this.#error('another process does it now');
      const page = await aggregations.page(this.#aggregation.key, RESULTS_PAGE, cursor).catch((error) => {
        trouble.made ??= { unreachable: error };
        throw error;
      });
      for (const result of page.items) {
        if (result.processorType !== type) continue;
        let item: unknown;
        try {
          item = await aggregator.map(resultOf(result));
        } catch (thrown) {
          trouble.made ??= failureOf(thrown);
          throw thrown;
        }
        yield item;
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  #context(): AggregationContext {
    const { key, total, success, failed, startedAt, completedAt } = this.#aggregation;
    return {
      groupId: groupIdOf(key),
      totalJobs: total,
      successCount: success,
      failedCount: failed,
      startedAt,
      completedAt,
      durationMs: Math.max(0, completedAt - startedAt),
    };
  }

  #encoded(value: unknown): Made {
    if (value === undefined) return { json: undefined };
    const encoded = encodeJson(value);
    if ('reason' in encoded) return { failure: `what reduce gave cannot be stored: ${encoded.reason}` };
    const max = this.#environment.config.limits.groupResultBytesMax;
    const bytes = bytesBeyond(encoded.json, max);
    if (bytes === undefined) return encoded;
    return { failure: `what reduce gave has ${bytes} bytes as JSON, at most ${max} are kept` };
  }

  async #tell(made: Made): Promise<AggregationOutcome> {
    const { aggregations } = this.#environment.store;
    const { key, round } = this.#aggregation;
    if ('unreachable' in made) return this.#giveUp(made.unreachable);
    if ('interrupted' in made) return made.interrupted === 'lost' ? this.#noteLost() : this.#release(0);
    if ('json' in made) {
      const answer = await this.#patiently(() => aggregations.finish(key, round, this.#token, made.json));
      if (answer === 'lost') return this.#noteLost();
      this.#note('info', { status: 'COMPLETED' }, 'Group ended: COMPLETED');
      return answer;
    }
    const { failure, cause } = made;
    const answer = await this.#patiently(() => aggregations.fail(key, round, this.#token, failure));
    if (answer === 'lost') return this.#noteLost();
    const fields = { code: 'AGGREGATION_FAILED', err: cause };
    if (answer === 'again') this.#note('warn', fields, `Aggregation failed and comes again: ${failure}`);
    else this.#note('error', { ...fields, status: 'FAILED' }, `Group ended: FAILED, ${failure}`);
    return answer;
  }

  /** The same token may say it again: it is heard once. */
  async #patiently<T>(tell: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await tell();
      } catch (error) {
        if (tries === TELL_TRIES) throw error;
        await sleep(this.#environment.clock, AGGREGATION_PAUSE_MS);
      }
    }
  }

  #noteLost(): AggregationOutcome {
    this.#note('debug', {}, 'An aggregation counts nothing: its lock was lost');
    return 'lost';
  }

  /** Not counted as a failure; again after a while, here or elsewhere. */
  #giveUp(error: unknown): Promise<AggregationOutcome> {
    const { code, message } = toWorkError(error);
    this.#note('warn', { code, err: error }, `Aggregation put off: ${message}`);
    return this.#release(AGGREGATION_PAUSE_MS);
  }

  async #release(ms: number): Promise<AggregationOutcome> {
    const { key, round } = this.#aggregation;
    // Without an answer the lock expires by itself.
    await this.#environment.store.aggregations.renew(key, round, this.#token, ms).catch(() => false);
    return 'released';
  }

  #error(reason: string) {
    return ERRORS.create('AGGREGATION_FAILED', { group: groupIdOf(this.#aggregation.key), reason });
  }

  #note(level: 'debug' | 'info' | 'warn' | 'error', fields: object, message: string): void {
    const { key, round, traceparent } = this.#aggregation;
    report(this.#environment.log, level, { ...groupFields(key, traceparent), round, ...fields }, message);
  }
}

const failureOf = (thrown: unknown): Made => ({ failure: toWorkError(thrown).message, cause: thrown });

const resultOf = ({ jobId, processorType, data }: StoredResult) => ({
  jobId,
  processorType,
  data: data === undefined ? undefined : (JSON.parse(data) as unknown),
});
