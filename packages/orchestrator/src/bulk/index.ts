/**
 * Commands that become bulk groups. An operation ends with round 1 of its group, with the group's result as its outcome.
 *
 * @packageDocumentation
 */
export type { HandOverContext } from '../handed-over.js';
export { BulkBacking, type BulkBackingOptions } from './bulk-backing.js';
export { type BulkGroup, type BulkJob, type BulkOptions, bulk, type ToGroup } from './bulk-route.js';
