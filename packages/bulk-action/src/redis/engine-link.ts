import { toWorkError } from '@millrace/foundation';
import {
  type LoadedScripts,
  loadScripts,
  type RedisArgument,
  type RedisConnection,
  type ScriptCall,
} from '@millrace/redis';
import type { ResourceConfig } from '../config-sections.js';
import { ERRORS } from '../errors.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { INSTANCE_TTL_MS } from '../ports.js';
import { LAYOUT, layoutNewer, refusedLayout } from './layout.js';
import { BULK_SCRIPTS } from './scripts.js';

/** The scripts of the engine, read from their files. */
export type BulkScripts = LoadedScripts<typeof BULK_SCRIPTS>;

const SCRIPTS: BulkScripts = loadScripts(BULK_SCRIPTS);

type Call<N extends keyof BulkScripts> = Parameters<BulkScripts[N]['call']>[0]['args'];
type Reply<N extends keyof BulkScripts> = ReturnType<BulkScripts[N]['declaration']['decode']>;

/** Runs the scripts of one engine: knows its connection, its keys and its settings. */
export class EngineLink {
  readonly connection: RedisConnection;
  /** What all keys begin with, hash tag included. */
  readonly base: string;
  readonly config: ResolvedBulkActionConfig;
  readonly #scripts: BulkScripts;
  readonly #settings: string;

  /**
   * @param connection - to Redis.
   * @param base - what all keys begin with, hash tag included.
   * @param config - the engine's.
   * @param scripts - the scripts; tests load them with another `now`.
   */
  constructor(
    connection: RedisConnection,
    base: string,
    config: ResolvedBulkActionConfig,
    scripts: BulkScripts = SCRIPTS,
  ) {
    this.connection = connection;
    this.base = base;
    this.config = config;
    this.#scripts = scripts;
    this.#settings = settingsOf(config);
  }

  /**
   * Runs one verb.
   * @throws MillraceError `BACKEND_UNAVAILABLE`; `REDIS_LAYOUT_NEWER` when a newer release has changed the data meanwhile.
   */
  async run<N extends keyof BulkScripts>(name: N, args: Omit<Call<N>, 'settings'>): Promise<Reply<N>> {
    const script = this.#scripts[name] as { call(input: object): ScriptCall<Reply<N>> };
    const call = script.call({
      keys: { meta: `${this.base}meta` },
      args: { settings: this.#settings, ...(args as Record<string, RedisArgument>) },
    });
    return this.#answered(this.connection.run(call));
  }

  /**
   * Refuses a Redis that deletes keys when its memory is full.
   * @throws MillraceError `BACKEND_UNAVAILABLE`, `REDIS_MAY_EVICT`.
   */
  requireNoEviction(): Promise<void> {
    return this.#answered(this.connection.requireNoEviction());
  }

  async #answered<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      const { code, message } = toWorkError(error);
      const layout = refusedLayout(error);
      if (layout !== undefined) throw layoutNewer(layout, error);
      if (code !== 'REDIS_UNAVAILABLE' && code !== 'SERVICE_STOPPED') throw error;
      throw ERRORS.create('BACKEND_UNAVAILABLE', { reason: message }, { cause: error });
    }
  }
}

/** By the names that the Lua files use. */
function settingsOf(config: ResolvedBulkActionConfig): string {
  const { backpressure, limits, fairQueue, workerPool, reliableQueue, aggregator, watcher } = config;
  return JSON.stringify({
    layout: LAYOUT,
    globalRps: backpressure.globalRps,
    burst: backpressure.burst,
    costMax: limits.costMax,
    readyQueueMaxSize: backpressure.readyQueueMaxSize,
    readyHorizonMs: backpressure.readyHorizonMs,
    fetchBatchSize: workerPool.fetchBatchSize,
    charge: typeof fairQueue.charge === 'function' ? 'function' : fairQueue.charge,
    alpha: fairQueue.alpha,
    maxShare: fairQueue.maxShare,
    ...fairQueue.priorityWeights,
    ackTimeoutMs: reliableQueue.ackTimeoutMs,
    maxOrphanCount: reliableQueue.maxOrphanCount,
    defaultBackoffMs: backpressure.defaultBackoffMs,
    maxBackoffMs: backpressure.maxBackoffMs,
    failedDetailsMaxCount: aggregator.failedDetailsMaxCount,
    jobRetentionMs: limits.jobRetentionMs,
    groupResultBytesMax: limits.groupResultBytesMax,
    lockTtlMs: config.watcher.lockTtlMs,
    resultRetentionMs: aggregator.resultRetentionMs,
    groupTimeoutMs: watcher.groupTimeoutMs,
    staleGroupThresholdMs: watcher.staleGroupThresholdMs,
    deadLetterRetentionMs: reliableQueue.deadLetterRetentionMs,
    queuedJobsMax: limits.queuedJobsMax,
    tenantQueuedJobsMax: limits.tenantQueuedJobsMax,
    instanceTtlMs: INSTANCE_TTL_MS,
    resources: config.resources,
    limited: limitedNames(config),
    congestion: congestionOf(config),
  });
}

const congestionOf = ({ congestion }: ResolvedBulkActionConfig) => {
  const { enabled, initialRps, baseBackoffMs, maxBackoffMs, statsRetentionMs } = congestion;
  return { enabled, initialRps, baseBackoffMs, maxBackoffMs, statsRetentionMs };
};

/** Resources with a limit that never goes: they have a line of their own in the fair queue. */
function limitedNames({ resources, congestion }: ResolvedBulkActionConfig): string[] {
  const isLimited = ({ rps, concurrency, adaptiveConcurrency, initialRps }: ResourceConfig) =>
    rps !== undefined ||
    concurrency !== undefined ||
    adaptiveConcurrency === true ||
    (initialRps ?? congestion.initialRps) > 0;
  return Object.keys(resources).filter((name) => isLimited(resources[name] ?? {}));
}
