import { Group, newTime, type Seat, type Tenant, type VirtualTime } from '../state/records.js';

/** How much the levels of priority multiply the weight of a group. */
const LEVEL_WEIGHTS = { high: 8, normal: 4, low: 1 } as const;

/** Returns what a group counts beside the other groups of its tenant. */
export const groupWeight = ({ weight, priorityLevel }: Group): number =>
  weight * LEVEL_WEIGHTS[priorityLevel];

/** Returns the finish tag of a group in a seat. */
export function tagIn(group: Group, seat: Seat): VirtualTime {
  const { resource } = seat.line;
  if (!resource) return group.tag;
  for (let away = group.away; away; away = away.next) if (away.resource === resource) return away.tag;
  group.away = { resource, tag: newTime(), next: group.away };
  return group.away.tag;
}

/** Returns a virtual time as it counts in an epoch. */
export function inEpoch(time: VirtualTime, epoch: number): VirtualTime {
  if (time.epoch !== epoch) {
    time.live = 0;
    time.stored = 0;
    time.epoch = epoch;
  }
  return time;
}

/** Moves the stored part of a virtual time forward. */
export function advanceStored(time: VirtualTime, epoch: number, to: number): void {
  const current = inEpoch(time, epoch);
  if (to > current.stored) current.stored = to;
}

/** Sets the stored part of a virtual time. */
export function setStored(time: VirtualTime, epoch: number, to: number): void {
  inEpoch(time, epoch).stored = to;
}

/** Moves a tag by what a charge turned out to differ. */
export function correctTag(tag: VirtualTime, epoch: number, by: number): void {
  if (tag.epoch !== epoch) return;
  tag.live += by;
  tag.stored += by;
}

/**
 * Changes a weight so that the work that is owed stays the same: the new weight counts from the next turn on.
 * @param virtual - the stored virtual time of the order that the tag belongs to.
 */
export function reweigh(scope: Group | Tenant, virtual: number, epoch: number, change: () => void): void {
  const weightOf = () => (scope instanceof Group ? groupWeight(scope) : scope.weight);
  const before = weightOf();
  change();
  const factor = before / weightOf();
  const tag = scope instanceof Group ? scope.tag : scope.free.tag;
  if (factor === 1 || tag.epoch !== epoch) return;
  for (const kind of ['live', 'stored'] as const)
    if (tag[kind] > virtual) tag[kind] = virtual + (tag[kind] - virtual) * factor;
}
