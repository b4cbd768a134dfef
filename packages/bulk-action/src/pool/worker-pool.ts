import {
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  Lifecycle,
  type Logger,
  printable,
  type Rng,
  type Service,
  silentLogger,
  systemClock,
  systemRng,
} from '@millrace/foundation';
import { AggregatorRegistry } from '../aggregator.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import type { BulkStore, Heartbeat } from '../ports.js';
import type { ProcessorRegistry } from '../processor.js';
import type { ThreadRunner } from '../thread-runner.js';
import { AggregationRunner } from './aggregation.js';
import {
  copyOfHistograms,
  newCounters,
  newHistograms,
  type PoolCounters,
  type PoolHistograms,
} from './counters.js';
import { Crew } from './crew.js';
import { Dispatcher } from './dispatcher.js';
import type { PoolEnvironment } from './environment.js';
import { Fetcher } from './fetcher.js';
import { Heartbeats } from './heartbeats.js';
import { Intake } from './intake.js';
import { JobTries, type SettledTry } from './job-tries.js';
import { LeaseKeeper } from './lease-keeper.js';
import { OrphanRecovery } from './orphan-recovery.js';
import { report } from './report.js';
import type { JobRun } from './run-job.js';
import { Settler } from './settler.js';
import { shutDown } from './shutdown.js';
import { type PoolStatus, poolStatus } from './status.js';
import { Sweeper } from './sweeper.js';
import { Watcher } from './watcher.js';
import { Worker, type WorkerEnvironment } from './worker.js';

/** What a pool is made of. */
export interface WorkerPoolOptions {
  /** Started before the pool, stopped after it, by whoever made it. */
  readonly store: BulkStore;
  readonly config: ResolvedBulkActionConfig;
  /** Looked up at every try: processors may be added while the pool runs. */
  readonly processors: ProcessorRegistry;
  /** Add up results; looked up at every try and every claim (none). */
  readonly aggregators?: AggregatorRegistry | undefined;
  /** Times everything (the machine's). */
  readonly clock?: Clock | undefined;
  /** Spreads back-offs and polls. */
  readonly rng?: Rng | undefined;
  /** Told what happens (nobody). */
  readonly log?: Logger | undefined;
  /** Runs processors with `thread`; without it this process has no such processors. */
  readonly threads?: ThreadRunner | undefined;
  /** Names this start of this process in the store; must be new at every start (drawn at random). */
  readonly instanceId?: string | undefined;
  /** Told of every try that was reported. */
  readonly onSettled?: ((settled: SettledTry) => void) | undefined;
}

const WORKERS_MAX = 100_000;

/** Runs jobs: Fetcher, Workers and Dispatcher as independent loops, and what keeps them safe. */
export class WorkerPool implements Service {
  readonly instanceId: string;
  readonly fetcher: Fetcher;
  readonly dispatcher: Dispatcher;
  readonly orphanRecovery: OrphanRecovery;
  readonly watcher: Watcher;
  readonly #environment: PoolEnvironment;
  readonly #options: WorkerPoolOptions;
  readonly #counters: PoolCounters = newCounters();
  readonly #histograms = newHistograms();
  readonly #intake: Intake;
  readonly #settler: Settler;
  readonly #keeper: LeaseKeeper<JobRun>;
  readonly #tries: JobTries;
  readonly #crew: Crew;
  readonly #aggregation: AggregationRunner;
  readonly #sweeper: Sweeper;
  readonly #heartbeats: Heartbeats;
  readonly #lifecycle: Lifecycle;
  #workerCount: number;
  #startedAt = 0;
  #shuttingDown = false;
  #crewWorks = false;

  /** @param options - see WorkerPoolOptions. */
  constructor(options: WorkerPoolOptions) {
    const { store, config, processors, threads, onSettled, clock = systemClock, rng = systemRng() } = options;
    this.instanceId = options.instanceId ?? randomId(rng.fork('instance'));
    const { instanceId } = this;
    const log = (options.log ?? silentLogger).child({ instance: instanceId });
    const environment: PoolEnvironment = { store, config, clock, rng, log };
    const counters = this.#counters;
    const { aggregators = new AggregatorRegistry() } = options;
    this.#options = options;
    this.#environment = environment;
    this.#workerCount = config.workerPool.workerCount;
    this.fetcher = new Fetcher(environment);
    this.dispatcher = new Dispatcher(environment);
    this.orphanRecovery = new OrphanRecovery({ ...environment, counters });
    this.watcher = new Watcher({ ...environment, counters });
    this.#aggregation = new AggregationRunner({ ...environment, aggregators });
    this.#sweeper = new Sweeper(environment);
    this.#intake = new Intake({ ...environment, instanceId, counters, slots: () => this.#workerCount });
    this.#settler = new Settler(environment);
    this.#keeper = new LeaseKeeper(environment);
    this.#tries = new JobTries({
      ...environment,
      processors,
      aggregators,
      threads,
      counters,
      histograms: this.#histograms,
      keeper: this.#keeper,
      settler: this.#settler,
      onSettled,
    });
    const work: WorkerEnvironment = {
      intake: this.#intake,
      work: this.#tries.work.bind(this.#tries),
      partOf: (key) => store.leases.partOf?.(key) ?? 0,
      clock,
      log,
    };
    this.#crew = new Crew((id) => new Worker(id, work));
    this.#heartbeats = new Heartbeats(environment, () => this.#describe());
    this.#lifecycle = new Lifecycle('WorkerPool', { start: () => this.#open(), stop: () => this.#close() });
  }

  /** What this pool has counted since it was made. */
  get counters(): Readonly<PoolCounters> {
    return { ...this.#counters };
  }

  /** How long tries took and jobs waited since it was made. */
  get histograms(): PoolHistograms {
    return copyOfHistograms(this.#histograms);
  }

  /** Handlers that run on though nobody waits for them any more. */
  get abandoned(): number {
    return this.#tries.abandoned;
  }

  /**
   * Starts all roles; with `workerPool.enabled: false` none.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Lets running jobs finish within `shutdownGracePeriodMs` and ends everything; always ends, see `shutDown`. */
  stop(): Promise<void> {
    this.#shuttingDown = true;
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * The same as `stop`, for NestJS.
   * @param signal - what the process was sent.
   */
  onApplicationShutdown(signal?: string): Promise<void> {
    report(
      this.#environment.log,
      'info',
      { signal },
      `WorkerPool shuts down${signal ? ` on ${signal}` : ''}`,
    );
    return this.stop();
  }

  /** How the pool is now. */
  getPoolStatus(): PoolStatus {
    return poolStatus({
      fetcher: this.fetcher,
      dispatcher: this.dispatcher,
      workers: this.#crew.workers,
      workerCount: this.#workerCount,
      isShuttingDown: this.#shuttingDown,
    });
  }

  /**
   * Changes the number of workers; surplus ones finish their job first. Before `start` it is what start begins with.
   * @param count - a whole number from 0.
   * @throws MillraceError `OPTION_INVALID` for another number or a pool that is not enabled, `SERVICE_STOPPED`.
   */
  scaleWorkers(count: number): void {
    if (!Number.isSafeInteger(count) || count < 0 || count > WORKERS_MAX)
      throw invalid('count', `an integer from 0 to ${WORKERS_MAX}`, count);
    if (!this.#environment.config.workerPool.enabled)
      throw invalid('workerPool.enabled', 'true to have workers', false);
    if (this.#shuttingDown) throw FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'WorkerPool' });
    const before = this.#workerCount;
    this.#workerCount = count;
    if (this.#crewWorks) {
      this.#crew.scale(count);
      this.#heartbeats.beat();
    }
    report(this.#environment.log, 'info', { from: before, to: count }, `Workers scaled ${before} → ${count}`);
  }

  async #open(): Promise<void> {
    const { config, clock, log } = this.#environment;
    if (!config.workerPool.enabled) {
      report(log, 'info', {}, 'WorkerPool is not enabled: this process only submits');
      return;
    }
    this.#startedAt = clock.now();
    const processorTypes = this.#types();
    report(log, 'info', { processorTypes }, `Processors registered: ${processorTypes.join(', ') || 'none'}`);
    // Heartbeats first: how much may be ready depends on the slots that are known.
    for (const service of [this.#heartbeats, ...this.#roles(), this.fetcher]) await service.start();
    this.#crewWorks = true;
    this.#crew.scale(this.#workerCount);
    report(log, 'info', { workerCount: this.#workerCount }, `Workers started: ${this.#workerCount}`);
  }

  async #close(): Promise<void> {
    const { config, log } = this.#environment;
    if (!config.workerPool.enabled) return;
    await shutDown({
      environment: this.#environment,
      fetcher: this.fetcher,
      crew: this.#crew,
      tries: this.#tries,
      settler: this.#settler,
      intake: this.#intake,
      last: [...this.#roles(), this.#heartbeats],
    });
    report(log, 'info', { ...this.#counters }, 'WorkerPool stopped');
  }

  #roles(): readonly Service[] {
    return [
      this.dispatcher,
      this.orphanRecovery,
      this.watcher,
      this.#aggregation,
      this.#sweeper,
      this.#keeper,
    ];
  }

  /** The processors that can run here. */
  #types(): readonly string[] {
    const { processors, threads } = this.#options;
    return processors.types.filter((type) => threads || !processors.get(type)?.thread);
  }

  /** What they call, where that is not their own name. */
  #resources(): Readonly<Record<string, string>> {
    const { processors } = this.#options;
    const named = this.#types().flatMap((type) => {
      const resource = processors.get(type)?.resource;
      return resource === undefined || resource === type ? [] : [[type, resource] as const];
    });
    return Object.fromEntries(named);
  }

  #describe(): Heartbeat {
    return {
      id: this.instanceId,
      startedAt: this.#startedAt,
      slots: this.#workerCount,
      waiting: this.#intake.waiting,
      processorTypes: this.#types(),
      resources: this.#resources(),
    };
  }
}

const randomId = (rng: Rng): string =>
  Array.from({ length: 2 }, () => rng.integer(0, 0xffff_ffff).toString(16).padStart(8, '0')).join('');

const invalid = (option: string, expected: string, given: unknown) =>
  FOUNDATION_ERRORS.create('OPTION_INVALID', {
    owner: 'WorkerPool',
    option,
    expected,
    given: printable(given),
  });
