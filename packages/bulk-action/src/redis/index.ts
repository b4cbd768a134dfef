/**
 * The engine on Redis: one Lua script per verb, all keys of a shard under one hash tag, any number of processes.
 *
 * @packageDocumentation
 */
export type { RedisLocation } from '../redis-location.js';
export { type OpenStoreDependencies, openRedisStore } from './open-store.js';
export { RedisStore, type RedisStoreOptions } from './store.js';
