import type { GroupDefinition } from '../ports.js';

/**
 * What tells a repeated definition of a group from another one: everything a caller may give but the trace.
 * @param definition - checked, defaults in place.
 */
export function fingerprintOf(definition: GroupDefinition): string {
  const { tenantId, weight, priorityLevel, rps, burst, concurrency, timeoutMs, deadline } = definition;
  return JSON.stringify([tenantId, weight, priorityLevel, rps, burst, concurrency, timeoutMs, deadline]);
}
