/**
 * Redis beneath Millrace: a connection whose every call has a deadline and which comes back by itself, Lua scripts
 * that are declared in TypeScript and survive SCRIPT FLUSH, keys from any id, and waiting by markers instead of
 * popping work. ioredis is inside; its errors never come out.
 *
 * @packageDocumentation
 */
export { Channels } from './channels.js';
export { compareFolder, compareHeader } from './compare-header.js';
export type { RedisArgument } from './connection.js';
export { ERRORS } from './errors.js';
export { decodeId, encodeId, type KeySpace, keySpace } from './keys.js';
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
  STANDARD_INCLUDES,
} from './script.js';
