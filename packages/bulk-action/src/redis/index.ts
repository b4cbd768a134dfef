/**
 * The engine on Redis: one Lua script per verb, all keys under one hash tag, any number of processes.
 *
 * @packageDocumentation
 */
export { RedisStore, type RedisStoreOptions } from './store.js';
