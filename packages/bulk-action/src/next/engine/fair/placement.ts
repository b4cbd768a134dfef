import type { JobBody } from '../state/chunks.js';
import type { Instance, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** Orphanings after which a job may be what kills processes. */
const SUSPECT_ORPHANS = 2;

/** Reports whether a job may be what kills processes: it runs alone among such jobs. */
export const isSuspect = ({ orphanCount }: Job): boolean => orphanCount >= SUSPECT_ORPHANS;

/**
 * Derives which processor types any instance has and which not every instance has. An instance without processors runs nothing
 * and does not count. One without slots announces its types but has no part in what is scarce.
 * @returns true if there is a type that there was not before.
 */
export function updateTypes(state: EngineState): boolean {
  const before = state.types;
  const instances = [...state.instances.values()].filter(({ types }) => types.size > 0);
  const working = instances.filter(({ slots }) => slots > 0);
  const holders = new Map<string, number>();
  for (const { types, slots } of instances)
    for (const type of types) holders.set(type, (holders.get(type) ?? 0) + (slots > 0 ? 1 : 0));
  state.types = new Set(holders.keys());
  state.scarceTypes = new Set(
    [...holders].flatMap(([type, count]) => (count < working.length ? [type] : [])),
  );
  for (const type of state.types) if (!before.has(type)) return true;
  return false;
}

/** Reports whether instances have processors, but none for this type. */
export const lacksProcessor = ({ types }: EngineState, type: string): boolean =>
  types.size > 0 && !types.has(type);

/** Reports whether an instance that has the type has a free slot. */
export function hasFreeSlot(state: EngineState, type: string): boolean {
  for (const { free, types } of state.instances.values()) if (free > 0 && types.has(type)) return true;
  return false;
}

/**
 * Returns the instance for a job: the one with the most free slots in proportion, the owner's own last at equal load. A suspect
 * goes to an instance without another one, and to the owner's own only if no other has its type.
 */
export function instanceFor(state: EngineState, job: Job): Instance | undefined {
  const { type } = job.body as JobBody;
  const suspect = isSuspect(job);
  let best: Instance | undefined;
  for (const instance of state.instances.values()) {
    if (instance.free <= 0 || !instance.types.has(type)) continue;
    if (suspect && !mayHostSuspect(state, instance, type)) continue;
    if (!best || isEmptier(state, instance, best)) best = instance;
  }
  return best;
}

function isEmptier({ ownId }: EngineState, a: Instance, b: Instance): boolean {
  const [freeA, freeB] = [a.free * b.slots, b.free * a.slots];
  return freeA > freeB || (freeA === freeB && b.id === ownId);
}

function mayHostSuspect(state: EngineState, { id, suspect }: Instance, type: string): boolean {
  if (suspect) return false;
  if (id !== state.ownId) return true;
  for (const other of state.instances.values())
    if (other.id !== id && other.slots > 0 && other.types.has(type)) return false;
  return true;
}
