import { hostname } from 'node:os';
import { BulkActionEngine } from '@millrace/bulk-action/nestjs';
import { Outbox } from '@millrace/outbox';
import { Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { Readiness } from '../health/readiness.js';
import { toIsoOrNull } from '../http/bodies.js';
import type { InstanceReport } from './instance-store.js';
import { MemoryWatch } from './memory-watch.js';

/** Names of one kind in a report; more are not named. */
const NAMES_MAX = 500;

/** Describes this instance. */
@Injectable()
export class InstanceReporter {
  readonly #parts: ServerParts;
  readonly #engine: BulkActionEngine;
  readonly #outbox: Outbox;
  readonly #readiness: Readiness;
  readonly #memory: MemoryWatch;

  constructor(
    @Inject(PARTS) parts: ServerParts,
    @Inject(BulkActionEngine) engine: BulkActionEngine,
    @Inject(Outbox) outbox: Outbox,
    @Inject(Readiness) readiness: Readiness,
  ) {
    this.#parts = parts;
    this.#engine = engine;
    this.#outbox = outbox;
    this.#readiness = readiness;
    this.#memory = new MemoryWatch(parts.clock);
  }

  /** Whether this instance runs bulk jobs. */
  get runsJobs(): boolean {
    return this.#engine.config.workerPool.enabled;
  }

  /** How this instance is now. */
  async report(): Promise<InstanceReport> {
    const { config, app, version, instanceId, draining, streams } = this.#parts;
    const { processors } = this.#engine;
    const { registry, poller, options } = this.#outbox;
    const { instanceId: bulkInstanceId } = this.#engine.pool;
    const { workerCount, workers } = this.#engine.pool.getPoolStatus();
    const { checks } = await this.#readiness.look();
    return {
      instanceId,
      bulkInstanceId,
      role: config.role,
      version,
      host: hostname(),
      pid: process.pid,
      workerCount: this.runsJobs ? workerCount : null,
      runs: {
        stopping: draining.isDraining,
        stoppingSince: toIsoOrNull(draining.beganAt),
        gracePeriodMs: config.gracePeriodMs,
        processors: this.runsJobs ? named(processors.types) : [],
        dags: named(registry.names),
        routes: named(Object.keys(app.routes)),
        outboxConcurrency: options.poll ? options.concurrency : null,
        busy: {
          jobs: workers.filter(({ currentJob }) => currentJob !== null).length,
          tasks: poller.busy,
          requests: draining.open,
          streams: streams.size,
        },
        backends: [...checks],
        pool: this.runsJobs ? this.#pool() : null,
        memory: this.#memory.look(),
      },
    };
  }

  #pool(): NonNullable<InstanceReport['runs']['pool']> {
    const { fetcherRunning } = this.#engine.pool.getPoolStatus();
    const { jobTimeoutMs, fetchIntervalMs, fetchBatchSize } = this.#engine.config.workerPool;
    return { fetcherRunning, jobTimeoutMs, fetchIntervalMs, fetchBatchSize };
  }
}

const named = (names: readonly string[]): string[] => names.slice(0, NAMES_MAX);
