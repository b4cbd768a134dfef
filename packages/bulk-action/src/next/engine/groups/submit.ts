import { hasEnded } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { refresh } from '../fair/order.js';
import { announceChunk } from '../fair/window.js';
import { resumeRound } from '../run/aggregate.js';
import { beginRound, completeIfDone } from '../run/end.js';
import { watchGroup } from '../run/watch.js';
import type { GroupSettings } from '../state/change.js';
import type { ChunkAddress } from '../state/position.js';
import type { Group, Tenant } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** Jobs that the journal has stored, or a group that it has created or sealed. */
export interface Submit {
  readonly kind: 'submit';
  readonly groupId: string;
  readonly tenantId: string;
  /** The definition of the group. Of a known group it is ignored. */
  readonly settings: GroupSettings;
  readonly chunks: readonly { readonly address: ChunkAddress; readonly jobs: number }[];
  readonly isSealed: boolean;
}

/** Registers the jobs of a submit. */
export function receiveSubmit(state: EngineState, submit: Submit): void {
  const group = groupOf(state, submit);
  if (submit.chunks.length > 0 && !group.isSealable && hasEnded(group.status)) beginRound(state, group);
  if (submit.chunks.length > 0) resumeRound(state, group);
  for (const { address, jobs } of submit.chunks) announceChunk(state, group, address, jobs);
  // An open group without jobs had nothing to be watched for.
  if (group.watchAt < 0) watchGroup(state, group);
  if (hasEnded(group.status)) passLate(group);
  else if (submit.isSealed && !group.isSealed) {
    decide(state, { kind: 'sealed', group });
    completeIfDone(state, group);
  }
  refresh(state, group);
}

/** Jobs of a round that was cut have ended with it. */
function passLate({ queues }: Group): void {
  for (const queue of queues) if (queue) queue.cursor = queue.tail;
}

function groupOf(state: EngineState, { groupId, tenantId, settings }: Submit): Group {
  const known = state.groups.get(groupId);
  if (known) return known;
  const tenant = tenantOf(state, tenantId);
  const number = state.shard.nextNumber;
  decide(state, { kind: 'group', number, id: groupId, tenant, settings, atUs: state.nowUs });
  const group = state.groups.get(groupId) as Group;
  watchGroup(state, group);
  return group;
}

/** Returns a tenant; adds it if it is new. */
export function tenantOf(state: EngineState, id: string): Tenant {
  const known = state.tenants.get(id);
  if (known) return known;
  decide(state, { kind: 'tenant', number: state.shard.nextNumber, id });
  return state.tenants.get(id) as Tenant;
}
