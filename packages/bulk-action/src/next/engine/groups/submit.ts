import { decide } from '../changes/decide.js';
import { refresh } from '../fair/order.js';
import { completeIfDone } from '../run/end.js';
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
  for (const { address, jobs } of submit.chunks)
    decide(state, { kind: 'announced', group, address, jobs, atUs: state.nowUs });
  if (submit.isSealed && !group.isSealed) {
    decide(state, { kind: 'sealed', group });
    completeIfDone(state, group);
  }
  refresh(state, group);
}

function groupOf(state: EngineState, { groupId, tenantId, settings }: Submit): Group {
  const known = state.groups.get(groupId);
  if (known) return known;
  const tenant = state.tenants.get(tenantId) ?? addTenant(state, tenantId);
  const number = state.shard.nextNumber;
  decide(state, { kind: 'group', number, id: groupId, tenant, settings, atUs: state.nowUs });
  return state.groups.get(groupId) as Group;
}

function addTenant(state: EngineState, id: string): Tenant {
  decide(state, { kind: 'tenant', number: state.shard.nextNumber, id });
  return state.tenants.get(id) as Tenant;
}
