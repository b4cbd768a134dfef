import { inEpoch, tagIn } from '../changes/tags.js';
import {
  FairLine,
  type Group,
  newTime,
  type Resource,
  Seat,
  type Tenant,
  type VirtualTime,
} from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** Returns the resource that a group's next job calls, if the configuration or a processor names one. */
export const resourceOf = (state: EngineState, type: string): Resource | undefined =>
  state.resourceOfType.get(type) ?? state.resources.get(type);

/** Returns the line in which a job of this type waits. */
export function lineOf(state: EngineState, type: string): FairLine {
  const resource = resourceOf(state, type);
  const line = resource?.isLimited ? resource.line : state.shard.free;
  return state.scarceTypes.size > 0 && state.scarceTypes.has(type)
    ? typeLine(state, line.resource, type)
    : line;
}

function typeLine(state: EngineState, resource: Resource | undefined, type: string): FairLine {
  const name = `${resource?.number ?? 0} ${type}`;
  let line = state.typeLines.get(name);
  if (!line) {
    line = new FairLine(resource, type);
    state.typeLines.set(name, line);
  }
  return line;
}

/** Returns the seat of a tenant in a line. */
export function seatIn(tenant: Tenant, line: FairLine): Seat {
  if (line.type === undefined) return line.resource ? tenant.seatAt(line.resource) : tenant.free;
  tenant.typeSeats ??= new Map();
  let seat = tenant.typeSeats.get(line);
  if (!seat) {
    seat = new Seat(tenant, line);
    tenant.typeSeats.set(line, seat);
  }
  return seat;
}

/** Returns the start tag of a member that has work again: it earns no credit while it is away. */
export const startTag = ({ shard }: EngineState, clock: VirtualTime, tag: VirtualTime): number =>
  Math.max(inEpoch(clock, shard.epoch).live, inEpoch(tag, shard.epoch).live);

/** Returns the finish tag of a group where it stands. Tags in the lines of types are not stored. */
export function standingTag(group: Group, seat: Seat): VirtualTime {
  const { line } = seat;
  if (line.type === undefined) return tagIn(group, seat);
  if (group.byType?.line !== line) group.byType = { line, tag: newTime() };
  return group.byType.tag;
}

/** Returns where a tenant stands in the line of one of its seats, or where it would stand. */
export const standingStart = (state: EngineState, seat: Seat): number =>
  seat.fairAt >= 0 ? seat.start : startTag(state, seat.line.clock, seat.tag);
