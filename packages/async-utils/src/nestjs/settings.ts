import type { LimitFunction } from '../limit.js';
import type { AsyncUtilsConfig } from './options.js';

/** What belongs to one instance: the settings of its application, and the limits of its methods. */
export interface InstanceState {
  settings: AsyncUtilsConfig;
  /** Keyed by what asks for the limit: a method's plan, or the options of the class's own limit. */
  limits: Map<object, LimitFunction>;
}

// Keyed by instance, not by class: two applications in one process have the same classes and different settings.
const states = new WeakMap<object, InstanceState>();

/** The state of an instance; one that no application has claimed has no settings, so the library's defaults hold. */
export function stateOf(instance: object): InstanceState {
  let state = states.get(instance);
  if (!state) {
    state = { settings: {}, limits: new Map() };
    states.set(instance, state);
  }
  return state;
}
