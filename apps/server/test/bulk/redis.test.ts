import { type RedisSandbox, redisSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../serve.js';
import { jobs, KEYS, lines, NDJSON, serveBulk } from './bulk-server.js';

const GROUPS = '/api/bulk/groups';

describe('bulk over HTTP on Redis', () => {
  let redis: RedisSandbox;
  let server: TestServer;
  beforeAll(async () => {
    redis = await redisSandbox();
    server = await serveBulk({ redisUrl: redis.url, keyPrefix: `${redis.namespace}:` });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await redis[Symbol.asyncDispose]();
  });

  it('a cursor that is none of ours is the fault of whoever sent it', async () => {
    await server.send(GROUPS, { body: { group: { id: 'c' }, jobs: jobs(1) } });
    for (const path of [GROUPS, `${GROUPS}/c/jobs`, '/api/bulk/dead-letters'])
      for (const cursor of ['abc', '-1', '-1000000000', '1e999', '1.2.3', '-', '+inf', '999999999999999'])
        expect(
          (await server.send(`${path}?cursor=${encodeURIComponent(cursor)}`)).status,
          `${path} ${cursor}`,
        ).toBeLessThan(500);
  });

  it('lines are jobs that run, are added up, and die by signature', async () => {
    const all = [...jobs(1_500), { id: 'bad', processorType: 'fail', payload: { why: 'no such user 7' } }];
    const broken = lines({ id: 'up' }, ...all.slice(0, 1_200), '{');
    const sent = { key: KEYS.acme, headers: NDJSON };
    expect((await server.send(GROUPS, { ...sent, body: broken })).status).toBe(422);
    const { body } = await server.send(GROUPS, { ...sent, body: lines({ id: 'up' }, ...all) });
    expect(body).toMatchObject({
      groupId: 'up',
      created: false,
      known: 1_200,
      registered: 1_501,
      sealed: true,
    });
    const result = await until(
      async () => {
        const answer = await server.send(`${GROUPS}/acme%2Fup/result`);
        return answer.status === 200 && answer.body;
      },
      { what: 'the result', deadlineMs: 15_000 },
    );
    expect(result).toMatchObject({ status: 'COMPLETED', success: 1_500, failed: 1, data: 1_124_250 });
    expect((await server.send('/api/bulk/fairness', { key: KEYS.acme })).body).toMatchObject({
      tenants: [{ id: 'acme' }],
      groups: [],
    });
    const { body: causes } = await server.send('/api/bulk/dead-letters?groupBy=signature');
    expect(causes.signatures).toMatchObject([
      {
        count: 1,
        processorType: 'fail',
        sample: { groupId: 'acme/up', jobId: 'bad', message: 'no such user 7' },
      },
    ]);
    expect(causes.signatures[0].firstFailedAt).toBe(causes.signatures[0].lastFailedAt);
    for (const n of [0, 1_499])
      expect((await server.send(`${GROUPS}/acme%2Fup/jobs/j${n}`)).body).toMatchObject({
        ...{ resultKept: true, result: n },
      });
    expect((await server.send(`${GROUPS}/acme%2Fup/jobs/bad`)).body).toMatchObject({
      ...{ resultKept: false, result: null },
    });
    const { points } = (await server.send(`${GROUPS}/up/progress`, { key: KEYS.acme })).body;
    expect(points.at(-1)).toMatchObject({ done: 1_501, failed: 1, registered: 1_501 });
    const selection = { signature: causes.signatures[0].signature, expectedCount: 1 };
    expect((await server.send('/api/bulk/dead-letters/purge', { body: selection })).body).toEqual({
      count: 1,
    });
    expect((await server.send(`${GROUPS}?tenant=acme`)).body.items).toMatchObject([{ id: 'acme/up' }]);
    expect((await server.send(`${GROUPS}/acme%2Fup/jobs?state=FAILED`)).body.items).toMatchObject([
      { id: 'bad' },
    ]);
  });
});
