import { decide } from '../changes/apply-change.js';
import type { Resource } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { updateLimits } from './limits.js';

/** Returns the resource of this name; makes it if it is new. */
function resourceNamed(state: EngineState, name: string): Resource {
  const known = state.resources.get(name);
  if (known) return known;
  decide(state, { kind: 'resource', number: state.shard.nextNumber, name });
  const resource = state.resources.get(name) as Resource;
  updateLimits(state, resource);
  return resource;
}

/** Makes the configured resources that the stored records lack, and brings the limits of all up to date. */
export function openResources(state: EngineState): void {
  for (const name of Object.keys(state.config.resources)) resourceNamed(state, name);
  for (const resource of state.resources.values()) updateLimits(state, resource);
}

/** Takes note of what processors call. A type that names no resource is a resource of its own. */
export function nameResources(
  state: EngineState,
  types: readonly string[],
  resources: { readonly [type: string]: string } = {},
): void {
  for (const type of types) {
    const name = Object.hasOwn(resources, type) ? (resources[type] as string) : type;
    state.resourceOfType.set(type, resourceNamed(state, name));
  }
}
