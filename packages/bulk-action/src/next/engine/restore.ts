import { hasEnded } from '../../states.js';
import { applyChange, countGroup } from './changes/apply-change.js';
import { openResources } from './congestion/resources.js';
import { restoreSmoothing } from './congestion/smoothing.js';
import { refresh } from './fair/order.js';
import { isSuspect } from './fair/placement.js';
import { askFor } from './fair/window.js';
import { readNote } from './format/note.js';
import { type StoredRecord, unpackRecords } from './format/record.js';
import { restoreAggregation } from './run/assign-aggregations.js';
import { instanceOf } from './run/instances.js';
import { watchGroup } from './run/watch.js';
import { addressOf, queueOfChunk } from './state/position.js';
import type { Group } from './state/records.js';
import type { EngineState } from './state/state.js';

/** What the store knows when an owner opens the shard. */
export interface Loaded {
  readonly seq: number;
  readonly records: readonly StoredRecord[];
  /** Notes newer than the oldest record, in order. */
  readonly notes: readonly Uint8Array[];
}

/** Rebuilds the state from what is stored. @throws FormatError if a record or note is damaged. */
export function restoreState(state: EngineState, { seq, records, notes }: Loaded): void {
  unpackRecords(state, records);
  for (const note of notes)
    readNote(note, state, (change, head) => {
      applyChange(state, change, head);
      // The drops of a commit go with the next one, which this owner makes.
      if (change.kind === 'dropped' && head.seq === seq) state.drops.push(change);
    });
  state.seq = seq;
  for (const tenant of state.tenants.values()) {
    tenant.pending = 0;
    tenant.openGroups = 0;
  }
  state.shard.pending = 0;
  state.shard.waitingGroups = 0;
  for (const group of state.groups.values()) restoreGroup(state, group);
  restoreSmoothing(state, records);
  openResources(state);
  for (const group of state.groups.values()) refresh(state, group);
}

/** Asks for chunks whose jobs have all ended: only a loaded chunk tells how many there are. */
function askForEnded(state: EngineState, group: Group): void {
  if (group.outcomes.size === 0) return;
  const open = [
    ...group.inFlight.keys(),
    ...group.delayed.keys(),
    ...group.front.map(({ position }) => position),
  ];
  const addresses = new Set(open.map(addressOf));
  for (const address of group.outcomes.keys()) {
    const { next, late } = group.queueOf(queueOfChunk(address));
    const isPassed = address < addressOf(next) || hasEnded(group.status);
    if (isPassed && !addresses.has(address) && !late.includes(address)) askFor(state, group, address);
  }
}

/** Derives what is not stored of a group. */
function restoreGroup(state: EngineState, group: Group): void {
  countGroup(state, group, 1);
  restoreAggregation(state, group);
  for (const queue of group.queues) if (queue) queue.cursor = queue.next;
  for (const job of group.delayed.values()) {
    state.delayed.put(job);
    if (job.reason === 'NO_PROCESSOR') state.unprocessed.add(group);
  }
  askForEnded(state, group);
  for (const job of group.inFlight.values()) {
    for (const scope of [group, group.tenant, state.shard]) scope.held += 1;
    if (job.resource) job.resource.held += 1;
    group.tenant.inFlight += 1;
    const instance = instanceOf(state, job.instanceId);
    instance.jobs.add(job);
    if (isSuspect(job)) instance.suspect = job;
    instance.free -= 1;
  }
  watchGroup(state, group);
  group.tag.live = group.tag.stored;
  for (const seat of [group.tenant.free, ...group.tenant.seats.values()])
    for (const time of [seat.tag, seat.clock, seat.line.clock]) time.live = time.stored;
  for (let { away } = group; away; away = away.next) away.tag.live = away.tag.stored;
}
