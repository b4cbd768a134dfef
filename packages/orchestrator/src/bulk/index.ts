/**
 * Commands that become bulk groups: the operation ends with round 1 of its group, and its outcome is the group's result.
 *
 * @packageDocumentation
 */
export type { HandOverContext } from '../handed-over.js';
export { BulkBacking, type BulkBackingOptions } from './bulk-backing.js';
export { type BulkGroup, type BulkJob, type BulkOptions, bulk, type ToGroup } from './bulk-route.js';
