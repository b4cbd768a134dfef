import { expect, it } from 'vitest';
import type { CallRequest, ResponseOf } from '../../src/server-client/index.js';

it('a call is typed by its row of the table of routes', () => {
  const group: CallRequest<'getGroup'> = { params: { groupId: 'g' } };
  // Nothing has to be given where everything may be left out.
  const all: CallRequest<'listGroups'> = {};
  const role: ResponseOf<'getCaller'>['role'] = 'operate';
  const id: ResponseOf<'listGroups'>['items'][number]['id'] = 'g';
  const created: ResponseOf<'startBatch'>['created'] = true;
  // @ts-expect-error a group has to be named.
  const unnamed: CallRequest<'getGroup'> = {};
  // @ts-expect-error there is no such state.
  const wrong: CallRequest<'listGroups'> = { query: { status: 'ASLEEP' } };
  // @ts-expect-error there is no such role.
  const boss: ResponseOf<'getCaller'>['role'] = 'boss';
  expect([group, all, role, id, created, unnamed, wrong, boss]).toHaveLength(8);
});
