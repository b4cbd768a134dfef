import type { RouteId } from '@millrace/contract';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type TestServer } from '../serve.js';
import { FIXTURE_APP } from './fixture-app.js';
import { ALL_ROUTES, addressOf, type Ids, SAMPLES } from './samples.js';
import { API_KEYS, SECRETS } from './test-keys.js';

/** Something of acme's that no answer to a rival may hold. */
const MARK = 'acme-secret-mark';

const OWN = ALL_ROUTES.filter(({ tenancy }) => tenancy === 'own');
const WITH_IDS = OWN.filter(({ path }) => path.includes('{'));
const WITHOUT_IDS = OWN.filter(({ path }) => !path.includes('{'));

describe('two customers on one installation', () => {
  let server: TestServer;
  let ids: Ids;
  const acme = (path: string, body?: unknown, method?: string) =>
    server.send(path, { key: SECRETS.acme, body, method });

  beforeAll(async () => {
    server = await serve({ apiKeys: API_KEYS, application: FIXTURE_APP });
    const jobs = [{ id: MARK, processorType: 'fixture.dead', payload: { text: MARK } }];
    await acme('/api/bulk/groups', { group: { id: MARK }, jobs });
    const batch = await acme('/api/batches', { dag: 'fixture-dag', bizKey: MARK, payload: { text: MARK } });
    await acme('/api/schedules', { name: MARK, dag: 'fixture-dag', cron: '0 3 * * *' });
    const session = await acme('/api/chat/sessions', { session_id: MARK });
    const turn = await acme(`/api/chat/sessions/${MARK}/queue`, { message: MARK });
    const command = { domain: 'FIXTURE', eventType: 'ECHO', bizKey: MARK, payload: MARK };
    const operation = await acme('/api/operations', command);
    for (const { status } of [batch, session, turn, operation]) expect(status).toBeLessThan(300);
    ids = {
      groupId: MARK,
      jobId: MARK,
      tenantId: 'acme',
      batchId: batch.body.id ?? batch.body.batch.id,
      taskKey: 'bad',
      name: MARK,
      sessionId: MARK,
      taskId: turn.body.task_id,
      opId: operation.body.opId,
    };
    await until(async () => (await acme('/api/bulk/dead-letters')).body.items.length === 1, {
      what: 'the dead letter',
    });
    await until(async () => (await acme(`/api/batches/${ids.batchId}`)).body.batch.status === 'FAILED', {
      what: 'the batch to fail',
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const answerTo = async (id: RouteId, key: string, given: Ids) => {
    const route = ALL_ROUTES.find((one) => one.id === id);
    const { body, query = '' } = SAMPLES[id](given);
    return server.send(addressOf(id, given) + query, { method: route?.method, key, body });
  };

  it.each(WITH_IDS.map(({ id }) => [id]))(
    '%s: an id of another tenant is not found, however it is written',
    async (id) => {
      const named = Object.fromEntries(
        Object.entries(ids).map(([name, value]) => [
          name,
          ['groupId', 'sessionId'].includes(name) ? `acme/${value}` : value,
        ]),
      ) as unknown as Ids;
      // Jobs may be added to a group that is not there yet: it is made, in the rival's own namespace.
      for (const given of id === 'addJobs' ? [named] : [ids, named]) {
        const answer = await answerTo(id, SECRETS.rival, given);
        expect(answer).toMatchObject({ status: 404, body: { status: 404 } });
        expect(JSON.stringify(answer.body)).not.toContain('it never works');
      }
    },
  );

  it.each(WITHOUT_IDS.filter(({ method, streams }) => method === 'GET' && !streams).map(({ id }) => [id]))(
    '%s: a list holds nothing of another tenant, and everything of the own',
    async (id) => {
      const foreign = await answerTo(id, SECRETS.rival, ids);
      expect(foreign.status).toBe(200);
      // The rival's own attempts above are in its own log, with what it asked for.
      const trace = id === 'getFairness' || id === 'listAudit' ? '"acme"' : MARK;
      expect(JSON.stringify(foreign.body)).not.toContain(trace);
      const own = await answerTo(id, SECRETS.acme, ids);
      expect(own.status).toBe(200);
      if (id !== 'getFairness') expect(JSON.stringify(own.body)).toMatch(new RegExp(`${MARK}|setSchedule`));
    },
  );

  it.each(ALL_ROUTES.filter(({ tenancy }) => tenancy === 'shared').map(({ id }) => [id]))(
    '%s belongs to all, and refuses the key of a tenant',
    async (id) => {
      const answer = await answerTo(id, SECRETS.acme, ids);
      expect(answer).toMatchObject({ status: 403, body: { code: 'TENANT_REFUSED' } });
    },
  );

  it('dead letters of another tenant can neither be sent back nor thrown away', async () => {
    for (const id of ['redriveDeadLetters', 'purgeDeadLetters'] as const) {
      const path = addressOf(id, ids);
      for (const selected of [
        { groupId: ids.groupId, expectedCount: 1 },
        { groupId: `acme/${ids.groupId}`, expectedCount: 1 },
        { ids: [{ groupId: `acme/${ids.groupId}`, jobId: ids.jobId }], expectedCount: 1 },
        { all: true, expectedCount: 1 },
      ]) {
        const answer = await server.send(path, { key: SECRETS.rival, body: selected });
        expect(answer.status).toBeGreaterThanOrEqual(400);
      }
    }
    expect((await acme('/api/bulk/dead-letters')).body.items).toHaveLength(1);
  });

  it('a customer cannot enter a namespace or a share that is not its own', async () => {
    for (const group of [
      { id: 'x', tenant: 'acme' },
      { id: 'acme/x' },
      { id: 'x', tenantId: 'acme' },
      { id: 'x', tenantId: 'one-more-share' },
    ]) {
      const answer = await server.send('/api/bulk/groups', { key: SECRETS.rival, body: { group, jobs: [] } });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
    const answer = await server.send('/api/batches', {
      key: SECRETS.rival,
      body: { dag: 'fixture-dag', bizKey: 'x', tenant: 'acme' },
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
  });

  it('whoever is limited to no tenant reaches all of them by tenant/id', async () => {
    const answer = await server.send(`/api/bulk/groups/acme%2F${MARK}`, { key: SECRETS.admin });
    expect(answer.status).toBe(200);
    expect((await server.send(`/api/bulk/groups/${MARK}`, { key: SECRETS.admin })).status).toBe(404);
  });
});
