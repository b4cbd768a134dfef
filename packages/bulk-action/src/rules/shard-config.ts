import type { BackpressureConfig, ResourceConfig } from '../config-sections.js';
import type { ResolvedBulkActionConfig } from '../options.js';

/*
 * What is limited over all is divided, so that all shards together keep to it without knowing of each other. Limits of a tenant or
 * a group stay: it lives in one shard. What bounds one step (batches) or one process stays too.
 */

/**
 * A whole number divided: the first parts get one more, and the sum is exact.
 * @param total - at least 0.
 * @param parts - how many.
 * @param part - which of them, from 0.
 */
export const wholePart = (total: number, parts: number, part: number): number =>
  Math.floor(total / parts) + (part < total % parts ? 1 : 0);

/**
 * The configuration of one shard.
 * @param config - of the whole engine.
 * @param shard - which of `config.shards`, from 0.
 */
export function shardConfig(config: ResolvedBulkActionConfig, shard: number): ResolvedBulkActionConfig {
  const { shards, limits, congestion, resources } = config;
  if (shards === 1) return config;
  return {
    ...config,
    limits: { ...limits, queuedJobsMax: wholePart(limits.queuedJobsMax, shards, shard) },
    backpressure: backpressureOf(config.backpressure, shards, shard),
    congestion: { ...congestion, initialRps: congestion.initialRps / shards },
    resources: Object.fromEntries(
      Object.entries(resources).map(([name, resource]) => [name, resourceOf(resource, shards, shard)]),
    ),
  };
}

function backpressureOf(config: BackpressureConfig, shards: number, shard: number): BackpressureConfig {
  const { globalRps, burst, readyQueueMaxSize } = config;
  return {
    ...config,
    globalRps: globalRps / shards,
    ...(burst !== undefined && { burst: wholePart(burst, shards, shard) }),
    readyQueueMaxSize: wholePart(readyQueueMaxSize, shards, shard),
  };
}

function resourceOf(resource: ResourceConfig, shards: number, shard: number): ResourceConfig {
  const { rps, initialRps, concurrency } = resource;
  return {
    ...resource,
    ...(rps !== undefined && { rps: rps / shards }),
    ...(initialRps !== undefined && { initialRps: initialRps / shards }),
    ...(concurrency !== undefined && { concurrency: wholePart(concurrency, shards, shard) }),
  };
}
