/**
 * The queue that many processes share, in Redis. Needs the optional peers `@millrace/redis` and `ioredis`, and
 * Redis 6.2 or newer.
 *
 * @packageDocumentation
 */
export {
  REDIS_QUEUE_DEFAULTS,
  type RedisQueueConfig,
  type ResolvedRedisQueueConfig,
  resolveRedisQueueConfig,
} from './options.js';
export { RedisQueue } from './queue.js';
