import { expect } from 'vitest';
import { ByteWriter } from '../../../src/next/engine/format/bytes.js';
import { packRecord } from '../../../src/next/engine/format/record.js';
import type { EngineState } from '../../../src/next/engine/state/state.js';

/** Everything durable, as it would be stored. */
export function image(state: EngineState): Map<string, string> {
  const records = [...state.byNumber.values()].map((record) =>
    packRecord(new ByteWriter(), state, record, 0),
  );
  return new Map(records.map(({ key, bytes }) => [key, Buffer.from(bytes).toString('hex')] as const).sort());
}

/** Jobs that wait, as counted and as the sum over all groups; groups that have not ended. */
export function waiting(state: EngineState): unknown {
  const counted = [...state.tenants.values()].map(({ pending }) => pending);
  const summed = [...state.tenants.values()].map((tenant) =>
    [...state.groups.values()].reduce((sum, group) => sum + (group.tenant === tenant ? group.pending : 0), 0),
  );
  expect(counted).toEqual(summed);
  return {
    all: state.shard.pending,
    groups: state.shard.waitingGroups,
    tenants: [...state.tenants.values()]
      .map(({ id, pending, openGroups }) => [id, pending, openGroups])
      .sort(),
  };
}
