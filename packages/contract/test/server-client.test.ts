import { expect, it } from 'vitest';
import { type CallRequest, createServerClient, type ResponseOf } from '../src/client/server-client.js';
import { json, startServer } from './server.js';

/** A client of a server that answers each request with the next status. */
async function answering(...statuses: number[]) {
  const { url, seen } = await startServer((response, _, index) => {
    const status = statuses[index] ?? 200;
    json(response, status, { n: index + 1, status, code: 'SOME_CODE', detail: 'no' }, { 'retry-after': '0' });
  });
  return { seen, client: createServerClient({ baseUrl: `${url}/`, apiKey: 'k' }) };
}

it('escapes ids in paths', async () => {
  const { client, seen } = await answering();
  await client.call('cancelOperation', { params: { opId: 'a/../b?c' } });
  const headers = { authorization: 'Bearer k' };
  expect(seen).toMatchObject([{ method: 'DELETE', url: '/api/operations/a%2F..%2Fb%3Fc', headers }]);
});

it.each([
  ['startBatch', { body: { dag: 'd', bizKey: 'k', ifEnded: 'rerun' } }, 1],
  ['startBatch', { body: { dag: 'd', bizKey: 'k' } }, 2],
  ['retryBatchTask', { params: { batchId: '1', taskKey: 't' } }, 1],
  ['retryBatch', { params: { batchId: '1' } }, 2],
  ['createChatSession', { body: {} }, 1],
  ['createChatSession', { body: { session_id: 's' } }, 2],
  ['queueChatMessage', { params: { sessionId: 's' }, body: { content: 'hello' } }, 1],
  ['redriveDeadLetters', { body: { all: true } }, 1],
  ['purgeDeadLetters', { body: { all: true } }, 1],
  ['removeSchedule', { params: { name: 'nightly' } }, 1],
] as const)(
  'retries only what is safe to repeat: %s with %j is sent %i times',
  async (id, request, times) => {
    const { client, seen } = await answering(503, 200);
    await client.call(id, request as never).catch((error) => {
      if (error.status !== 503) throw error;
    });
    expect(seen).toHaveLength(times);
  },
);

it('gives each upload of jobs an idempotency key', async () => {
  const { client, seen } = await answering(503, 200);
  await client.call('addJobs', { params: { groupId: 'g' }, body: { jobs: [] } });
  const keys = seen.map(({ headers }) => headers['idempotency-key']);
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
});

it('types a call by its route', () => {
  const group: CallRequest<'getGroup'> = { params: { groupId: 'g' } };
  // Nothing is required if every part is optional.
  const all: CallRequest<'listGroups'> = {};
  const created: ResponseOf<'startBatch'>['created'] = true;
  // @ts-expect-error groupId is required.
  const unnamed: CallRequest<'getGroup'> = {};
  // @ts-expect-error there is no such status.
  const wrong: CallRequest<'listGroups'> = { query: { status: 'ASLEEP' } };
  // @ts-expect-error there is no such role.
  const boss: ResponseOf<'getCaller'>['role'] = 'boss';
  expect([group, all, created, unnamed, wrong, boss]).toHaveLength(6);
});
