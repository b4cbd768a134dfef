/**
 * Commands that start outbox batches. An operation ends with its batch, in one transaction if both are in one database.
 *
 * @packageDocumentation
 */
export type { HandOverContext } from '../handed-over.js';
export { BatchBacking, type BatchBackingOptions } from './batch-backing.js';
export { type BatchOptions, batch, type ToPayload } from './batch-route.js';
