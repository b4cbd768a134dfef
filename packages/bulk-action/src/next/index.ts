/**
 * The engine that will replace the rules in the store: one state machine without I/O, whose decisions a journal makes durable.
 *
 * @packageDocumentation
 */
export { type Commit, type Delivery, Engine, type InboxEntry } from './engine/engine.js';
export type { Loaded } from './engine/restore.js';
export type { AttemptOutcome, Settlement } from './engine/run/settle.js';
export { resolveEngineConfig } from './engine/state/config.js';
