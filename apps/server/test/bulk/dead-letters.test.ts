import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../serve.js';
import { KEYS, serveBulk } from './bulk-server.js';

const LETTERS = '/api/bulk/dead-letters';

describe('dead letters over HTTP', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serveBulk();
    for (const [key, id, why] of [
      [KEYS.acme, 'a', 'smtp refused'],
      [KEYS.acme, 'b', 'no such user'],
      [KEYS.shop, 's', 'smtp refused'],
    ] as const)
      await server.send('/api/bulk/groups', {
        key,
        body: {
          group: { id },
          jobs: [0, 1, 2].map((n) => ({ id: `j${n}`, processorType: 'fail', payload: { why } })),
        },
      });
    await until(async () => (await server.send('/api/bulk/queues')).body.deadLetters === 9, {
      what: 'nine dead letters',
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const list = async (query = '', key?: string) => (await server.send(`${LETTERS}?${query}`, { key })).body;
  const move = (verb: 'redrive' | 'purge', body: object, key?: string) =>
    server.send(`${LETTERS}/${verb}`, { body, key });

  it('are listed with their jobs, by group, job and signature, page by page', async () => {
    const { items, cursor } = await list('limit=5');
    expect(items).toHaveLength(5);
    expect((await list(`limit=5&cursor=${cursor}`)).items).toHaveLength(4);
    const [letter] = (await list('groupId=acme%2Fa&jobId=j1')).items;
    expect(letter).toMatchObject({
      error: 'smtp refused',
      code: 'HANDLER_FAILED',
      job: { id: 'j1', groupId: 'acme/a', place: 'DEAD', payload: { why: 'smtp refused' } },
    });
    expect((await list(`signature=${encodeURIComponent(letter.signature)}`)).items).toHaveLength(6);
    for (const query of ['jobId=j1', 'groupBy=signature&cursor=x', 'groupBy=group', 'tenant=acme'])
      expect((await list(query)).code, query).toBe('REQUEST_INVALID');
  });

  it('are counted by cause; a key of a tenant sees its own', async () => {
    const { signatures, items } = await list('groupBy=signature');
    expect(items).toBeUndefined();
    expect(signatures.map(({ count }: { count: number }) => count)).toEqual([6, 3]);
    expect((await list('groupBy=signature', KEYS.shop)).signatures).toMatchObject([
      { count: 3, processorType: 'fail', code: 'HANDLER_FAILED', sample: { groupId: 's' } },
    ]);
    const own = (await list('', KEYS.shop)).items;
    expect(own.map(({ job }: { job: { groupId: string } }) => job.groupId)).toEqual(['s', 's', 's']);
    expect(await list('groupId=acme%2Fa', KEYS.shop)).toMatchObject({ code: 'GROUP_NOT_FOUND' });
  });

  it('a selection is one thing, and is counted before it is moved', async () => {
    for (const body of [{ expectedCount: 1 }, { all: true }, { all: true, groupId: 'x', expectedCount: 0 }])
      expect(await move('purge', body)).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    const changed = await move('purge', { all: true, expectedCount: 8 });
    expect(changed).toMatchObject({ status: 409, body: { code: 'COUNT_CHANGED' } });
    expect(changed.body.detail).toContain('9 dead letters');
    const [{ signature }] = (await list('groupBy=signature')).signatures;
    expect((await move('redrive', { signature, expectedCount: 6 }, KEYS.shop)).status).toBe(409);
    expect((await list('limit=100')).items).toHaveLength(9);
  });

  it('are purged by id and by group, sent back by signature; a tenant reaches its own only', async () => {
    const ids = ['j0', 'j1', 'j0', 'none'].map((jobId) => ({ groupId: 'b', jobId }));
    expect((await move('purge', { ids, expectedCount: 2 }, KEYS.acme)).body).toEqual({ count: 2 });
    const foreign = { ids: [{ groupId: 'shop/s', jobId: 'j0' }], expectedCount: 1 };
    expect((await move('purge', foreign, KEYS.acme)).status).toBe(404);
    const [{ signature }] = (await list('groupBy=signature')).signatures;
    expect((await move('redrive', { signature, expectedCount: 3 }, KEYS.shop)).body).toEqual({ count: 3 });
    // They die again: their group has opened its next round, and ends it.
    const result = await until(
      async () => {
        const { status, body } = await server.send('/api/bulk/groups/s/result?round=2', { key: KEYS.shop });
        return status === 200 && body;
      },
      { what: 'the second round' },
    );
    expect(result).toMatchObject({ groupId: 's', round: 2 });
    await until(async () => (await list('', KEYS.shop)).items.length === 3, {
      what: 'three that died again',
    });
    const other = { groupId: 'acme/b', signature };
    expect((await move('purge', { ...other, expectedCount: 1 })).body).toMatchObject({
      code: 'COUNT_CHANGED',
    });
    expect((await move('purge', { groupId: 'acme/b', expectedCount: 1 })).body).toEqual({ count: 1 });
    const both = { groupId: 'acme/a', signature, expectedCount: 3 };
    expect((await move('purge', both)).body).toEqual({ count: 3 });
    expect((await move('purge', { all: true, expectedCount: 3 })).body).toEqual({ count: 3 });
    expect((await list()).items).toEqual([]);
  });
});
