import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServerConfig } from '../../src/config/model.js';
import { AuditStore } from '../../src/fleet/audit-log.js';
import { ServerTables } from '../../src/fleet/server-tables.js';
import { type Sent, serve, type TestServer } from '../serve.js';
import { ADMIN, ANA, ANA_ADMIN, BEN, KEYS } from '../tenant-keys.js';

const NO_OPERATION = '/api/operations/00000000-0000-7000-8000-000000000000';

describe('the audit log', () => {
  let server: TestServer;
  let database: PgDatabase;
  beforeAll(async () => {
    server = await serve({ apiKeys: KEYS, bulk: { workerPool: { workerCount: 2 } } });
    database = new PgDatabase({ url: server.databaseUrl, logger: silentLogger });
    // Who scales names an instance that has been heard of.
    await until(async () => (await pool()).instances.length === 1, { what: 'the first heartbeat' });
  });
  afterAll(async () => {
    await database.stop();
    await server[Symbol.asyncDispose]();
  });

  const pool = async () => (await server.send('/api/bulk/pool', { key: ADMIN })).body;
  const scale = (body: object, sent: Sent = {}) =>
    server.send('/api/bulk/pool', { method: 'PATCH', key: ADMIN, body, ...sent });
  const cancel = (key: string) => server.send(NO_OPERATION, { method: 'DELETE', key });
  const list = async (query = '', key = ADMIN) => (await server.send(`/api/audit${query}`, { key })).body;
  const withStatus = (query: string, status: number) =>
    until(
      async () => {
        const [entry] = (await list(query)).items;
        return entry?.status === status && entry;
      },
      { what: `an entry with the status ${status}` },
    );

  it('says who changed what, when, and what came of it', async () => {
    expect((await scale({ workerCount: 3 })).status).toBe(200);
    expect(await withStatus('?route=scalePool', 200)).toMatchObject({
      key: 'root',
      role: 'admin',
      tenant: null,
      route: 'scalePool',
      method: 'PATCH',
      path: '/api/bulk/pool',
      params: {},
      body: '{"workerCount":3}',
      instanceId: server.instanceId,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect((await cancel(ANA)).status).toBe(404);
    expect(await withStatus('?route=cancelOperation', 404)).toMatchObject({
      key: 'ana',
      tenant: 'a',
      path: NO_OPERATION,
      params: { opId: NO_OPERATION.split('/').at(-1) },
      body: null,
    });
  });

  it('says whose it was that was changed, where the query says so', async () => {
    const remove = (query: string) =>
      server.send(`/api/schedules/nightly${query}`, { method: 'DELETE', key: ADMIN });
    for (const [query, params] of [
      ['?tenant=acme', { name: 'nightly', tenant: 'acme' }],
      ['?tenant=globex', { name: 'nightly', tenant: 'globex' }],
      ['?tenant=', { name: 'nightly', tenant: '' }],
      ['', { name: 'nightly' }],
      // Refused, and yet written down: as little as can be.
      [`?tenant=%00${ADMIN}&other=1&name=x`, { name: 'nightly', tenant: '\u{FFFD}[secret]' }],
    ] as const) {
      await remove(query);
      const [entry] = (await list('?route=removeSchedule')).items;
      expect(entry).toMatchObject({ path: '/api/schedules/nightly' });
      expect(entry.params).toEqual(params);
    }
  });

  it('has nothing of requests that only look', async () => {
    const before = (await list('?limit=200')).items.length;
    await pool();
    await list();
    expect((await list('?limit=200')).items).toHaveLength(before);
  });

  it('has no secrets', async () => {
    expect((await scale({ workerCount: 1, instance: ADMIN, password: 'hunter2' })).status).toBe(400);
    const { body } = await withStatus('?route=scalePool', 400);
    expect(body).toBe('{"workerCount":1,"instance":"[secret]","password":"[secret]"}');
    await server.send(`/api/operations/%00${ADMIN}`, { method: 'DELETE', key: ADMIN });
    const [entry] = (await list('?route=cancelOperation&key=root')).items;
    expect(entry.params).toEqual({ opId: '\u{FFFD}[secret]' });
    const { rows } = await database.query('SELECT a::text AS entry FROM millrace.server_audit a');
    expect(JSON.stringify(rows)).not.toContain(ADMIN);
  });

  it('shows a key of a tenant what keys of its tenant did', async () => {
    await cancel(ANA);
    await cancel(BEN);
    const names = async (query: string, key: string) =>
      new Set((await list(query, key)).items.map((entry: { key: string }) => entry.key));
    expect(await names('', ANA_ADMIN)).toEqual(new Set(['ana']));
    expect(await names('?key=ben', ANA_ADMIN)).toEqual(new Set());
    expect(await names('', ADMIN)).toEqual(new Set(['root', 'ana', 'ben']));
    expect((await server.send('/api/audit', { key: ANA })).status).toBe(403);
  });

  it('comes in pages, newest first', async () => {
    // Ids only: the status of the last ones may still come.
    const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => Number(id));
    const whole = idsOf(await list('?limit=200'));
    expect(whole.length).toBeGreaterThan(3);
    expect(whole).toEqual([...whole].sort((one, other) => other - one));
    const seen: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: { items: { id: string }[]; cursor: string | null } = await list(
        `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...idsOf(page));
      cursor = page.cursor;
    }
    expect(seen).toEqual(whole);
    for (const wrong of ['?cursor=x', '?limit=0', '?other=1']) expect((await list(wrong)).status).toBe(400);
  });

  it('no record, no change: 503, and everything is as it was', async () => {
    const before = (await pool()).instances[0].wantedWorkers;
    await database.query('ALTER TABLE millrace.server_audit RENAME TO away');
    try {
      const refused = await scale({ workerCount: 7 });
      expect(refused).toMatchObject({ status: 503, body: { code: 'AUDIT_UNAVAILABLE', retryable: true } });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect((await pool()).instances[0].wantedWorkers).toBe(before);
      expect((await server.send('/health/live')).status).toBe(200);
    } finally {
      await database.query('ALTER TABLE millrace.away RENAME TO server_audit');
    }
    expect((await scale({ workerCount: 2 })).status).toBe(200);
  });

  it('is kept for 90 days', async () => {
    await database.query(
      "UPDATE millrace.server_audit SET at = at - interval '91 days' WHERE key_name = 'ben'",
    );
    const store = new AuditStore(new ServerTables({ database, config: ServerConfig.parse({}) }));
    expect(await store.prune(1_000)).toBe(1);
    expect((await list('?key=ben')).items).toEqual([]);
    expect((await list('?key=ana')).items).not.toEqual([]);
  });
});
