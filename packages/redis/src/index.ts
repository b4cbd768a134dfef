/**
 * A connection to Redis with a deadline for every call, which restores itself. Lua scripts that are declared in TypeScript
 * and survive SCRIPT FLUSH, keys made from any id, and markers that wake waiting processes. Uses ioredis and turns its
 * errors into codes.
 *
 * @packageDocumentation
 */
export { compareFolder, compareHeader } from './assembler/compare-header.js';
export { STANDARD_INCLUDES } from './assembler/lua-files.js';
export { Channels } from './channels.js';
export type { RedisArgument } from './connection.js';
export { ERRORS } from './errors.js';
export { encodeId, type KeySpace, keySpace } from './keys.js';
export { Markers, type MarkerWaitOptions, type WaitOutcome } from './markers.js';
export {
  REDIS_CONNECTION_DEFAULTS,
  type RedisConnectionOptions,
  type ResolvedRedisConnectionOptions,
  resolveRedisConnectionOptions,
} from './options.js';
export { type CallOptions, type PipelineOutcomes, RedisConnection } from './redis-connection.js';
export {
  type AnyScriptDeclaration,
  defineScript,
  type LoadedScripts,
  type LoadOptions,
  loadScripts,
  type Script,
  type ScriptCall,
  type ScriptDeclaration,
  type ScriptInput,
  type ScriptInputs,
  type ScriptRunner,
} from './script.js';
