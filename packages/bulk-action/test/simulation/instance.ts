import type { Logger, Rng } from '@millrace/foundation';
import { type Aggregator, AggregatorRegistry } from '../../src/aggregator.js';
import type { ResolvedBulkActionConfig } from '../../src/options.js';
import { STORE_BUDGET_MS } from '../../src/pool/shutdown.js';
import { WorkerPool } from '../../src/pool/worker-pool.js';
import type { BulkStore } from '../../src/ports.js';
import { ProcessorRegistry } from '../../src/processor.js';
import { scriptedAggregator } from './aggregators.js';
import { type ProcessorParts, scriptedProcessors } from './processors.js';
import type { EventLog, SimProcess } from './scheduler.js';
import type { Violations } from './truth.js';

/** What an instance needs. */
export interface InstanceParts {
  readonly process: SimProcess;
  /** As this process sees it. */
  readonly store: BulkStore;
  readonly config: ResolvedBulkActionConfig;
  readonly rng: Rng;
  readonly workers: number;
  readonly types: readonly string[];
  /** Whether it has an aggregator. */
  readonly aggregates: boolean;
  readonly violations: Violations;
  readonly processors: ProcessorParts;
}

/** One process with the shipped worker pool in it. */
export class Instance {
  readonly process: SimProcess;
  /** Whether its stop has ended. */
  stopped = false;
  readonly #parts: InstanceParts;
  readonly #pool: WorkerPool;

  constructor(parts: InstanceParts) {
    const { process, store, config, rng, workers, types, processors, aggregates } = parts;
    const aggregator = scriptedAggregator(processors, config.watcher.lockTtlMs);
    this.process = process;
    this.#parts = parts;
    this.#pool = new WorkerPool({
      store,
      config,
      processors: new ProcessorRegistry(scriptedProcessors(processors, types)),
      aggregators: new AggregatorRegistry(aggregates ? [aggregator as Aggregator] : []),
      clock: process.clock,
      rng: rng.fork('pool'),
      log: eventLogger(process, processors.scheduler.log),
      instanceId: process.name,
    });
    this.#pool.scaleWorkers(workers);
  }

  start(): void {
    this.#watch(this.#pool.start());
  }

  scale(workers: number): void {
    this.#pool.scaleWorkers(workers);
  }

  /** I11: a stop ends in time whatever the store does, unless the process is held up or killed itself. */
  stop(onStopped: () => void): void {
    const { config, processors, violations } = this.#parts;
    const { scheduler } = processors;
    const from = scheduler.time;
    const mostMs = config.workerPool.shutdownGracePeriodMs + STORE_BUDGET_MS;
    const frozen = () => this.process.frozenUntil > from;
    scheduler.schedule(this.process, mostMs + 1, 'must have stopped', () =>
      violations.check(
        this.stopped || frozen(),
        'I11',
        () => `${this.process.name} has not stopped ${mostMs} ms after ${from}`,
      ),
    );
    this.#watch(
      this.#pool.stop().then(() => {
        this.stopped = true;
        onStopped();
      }),
    );
  }

  #watch(work: Promise<void>): void {
    work.catch((error: unknown) => {
      const { violations } = this.#parts;
      violations.check(false, 'I11', () => `${this.process.name} failed: ${(error as Error)?.stack}`);
    });
  }
}

/** What a pool says is part of the run: two runs of a seed must say the same. */
function eventLogger(process: SimProcess, log: EventLog): Logger {
  const write = (level: string) => (_fields: object, message: string) =>
    log.write(`  ${process.name} ${level}: ${message}`);
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  };
  return logger;
}
