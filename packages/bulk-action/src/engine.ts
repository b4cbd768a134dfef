import {
  type Clock,
  Lifecycle,
  type Logger,
  type OptionRule,
  objectOption,
  type Rng,
  resolveOptions,
  type Service,
  silentLogger,
  systemClock,
  systemRng,
  withDeadline,
} from '@millrace/foundation';
import { type Aggregator, AggregatorRegistry } from './aggregator.js';
import { AggregatorService } from './aggregator-service.js';
import { BackpressureService } from './backpressure-service.js';
import { BulkActionService } from './bulk-action-service.js';
import { CongestionStatsService } from './congestion-stats-service.js';
import { DeadLetterService } from './dead-letter-service.js';
import { IdempotencyService } from './idempotency-service.js';
import { openMemoryStore } from './memory/open-store.js';
import { type BulkActionConfig, type ResolvedBulkActionConfig, resolveBulkActionConfig } from './options.js';
import { WorkerPool } from './pool/worker-pool.js';
import type { BulkStore } from './ports.js';
import { type JobProcessor, ProcessorRegistry } from './processor.js';
import { HeldJobs } from './services/held-jobs.js';
import type { ThreadRunner } from './thread-runner.js';

/** What an engine is made of; everything may be left out. */
export interface BulkActionEngineOptions {
  /** See BulkActionConfig. */
  readonly config?: BulkActionConfig | undefined;
  /** Who runs the jobs, one per type; more may be registered later. */
  readonly processors?: readonly JobProcessor<never, unknown>[] | undefined;
  /** Who adds up the results of groups, one per processor type; more may be registered later. */
  readonly aggregators?: readonly Aggregator[] | undefined;
  /** Where groups and jobs are (this process' memory); the engine starts and stops it. */
  readonly store?: BulkStore | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
  /** Runs the processors that want a thread. */
  readonly threads?: ThreadRunner | undefined;
}

const listOption = (of: string): OptionRule => ({ expected: `a list of ${of}`, accepts: Array.isArray });
const RULES = {
  config: objectOption('a configuration'),
  processors: listOption('processors'),
  aggregators: listOption('aggregators'),
  store: objectOption('a BulkStore', 'groups', 'views', 'gate', 'leases', 'start', 'stop'),
  clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
  rng: objectOption('an Rng', 'next', 'integer', 'fork'),
  log: objectOption('a Logger', 'debug', 'info', 'warn', 'error', 'child'),
  threads: objectOption('a ThreadRunner', 'submit'),
};

/** One process' part of the engine: its services and its worker pool on one store. */
export class BulkActionEngine implements Service {
  readonly config: ResolvedBulkActionConfig;
  readonly store: BulkStore;
  /** Times everything. */
  readonly clock: Clock;
  readonly processors: ProcessorRegistry;
  readonly aggregators: AggregatorRegistry;
  readonly service: BulkActionService;
  readonly pool: WorkerPool;
  readonly deadLetters: DeadLetterService;
  readonly idempotency: IdempotencyService;
  readonly backpressure: BackpressureService;
  readonly aggregator: AggregatorService;
  readonly congestion: CongestionStatsService;
  /** The jobs that are taken by hand, outside the pool. */
  readonly held: HeldJobs;
  readonly #lifecycle: Lifecycle;
  readonly #log: Logger;

  /**
   * @param options - see BulkActionEngineOptions.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `PROCESSOR_CONFLICT`, `AGGREGATOR_CONFLICT`.
   */
  constructor(options: BulkActionEngineOptions = {}) {
    const given = resolveOptions<BulkActionEngineOptions>(
      { owner: 'BulkActionEngine', defaults: {}, rules: RULES },
      options as never,
    );
    const { clock = systemClock, rng = systemRng(), log = silentLogger, threads } = given;
    const config = resolveBulkActionConfig(given.config);
    const store = given.store ?? openMemoryStore(config, { clock, log });
    const processors = new ProcessorRegistry(given.processors);
    const aggregators = new AggregatorRegistry(given.aggregators);
    this.config = config;
    this.#log = log;
    this.store = store;
    this.clock = clock;
    this.processors = processors;
    this.aggregators = aggregators;
    this.service = new BulkActionService({ store, config, clock, rng: rng.fork('job ids') });
    this.deadLetters = new DeadLetterService({ store });
    this.congestion = new CongestionStatsService({ store, config });
    this.idempotency = new IdempotencyService({ store, config, clock, rng: rng.fork('idempotency') });
    const all = { store, config, processors, aggregators, clock, log };
    this.held = new HeldJobs({ ...all, rng: rng.fork('held') });
    this.backpressure = new BackpressureService({ store, config, held: this.held });
    this.aggregator = new AggregatorService({ ...all, rng: rng.fork('aggregator'), held: this.held });
    this.pool = new WorkerPool({ ...all, threads, rng: rng.fork('pool') });
    this.#lifecycle = new Lifecycle('BulkActionEngine', {
      start: () => this.#open(),
      stop: () => this.#close(),
    });
  }

  /**
   * Opens the store, then runs jobs.
   * @throws MillraceError `BACKEND_UNAVAILABLE`; `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Takes no more jobs, lets those that run finish within `workerPool.shutdownGracePeriodMs`, closes the processors and the
   * store.
   */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #open(): Promise<void> {
    await this.store.start();
    try {
      await this.pool.start();
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async #close(): Promise<void> {
    try {
      await Promise.all([this.pool.stop(), this.held.stop()]);
    } finally {
      const closed = withDeadline(
        this.clock,
        this.config.workerPool.abortGraceMs,
        this.processors.close(this.#log),
      );
      await Promise.all([closed, this.store.stop()]);
    }
  }
}
