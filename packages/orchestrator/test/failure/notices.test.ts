import { seededRng, sleep, systemClock } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineRoutes, inline } from '../../src/define-routes.js';
import type { OrchestratorOptions } from '../../src/options.js';
import { OrchestratorService } from '../../src/orchestrator-service.js';
import type { OperationStore } from '../../src/ports.js';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { RouteExecutor } from '../../src/route-executor.js';
import { openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';
import { command } from '../world.js';

let home: StoreDatabase;
beforeAll(async () => {
  home = await openDatabase('postgres');
});
afterAll(() => home.close());

const NEVER_MS = 60_000;
const routes = defineRoutes({
  'ORDER.PLACE': inline(async ({ payload }, { signal }) => {
    await sleep(systemClock, (payload as { ms: number }).ms, signal);
    return 'done';
  }),
});
const storeOf = () => new PostgresOperationStore({ database: home.database, schema: SCHEMA });

async function instance(options: Partial<OrchestratorOptions> = {}): Promise<OrchestratorService> {
  const service = new OrchestratorService({
    executor: new RouteExecutor({ routes }),
    store: storeOf(),
    rng: seededRng(`instance ${Math.round(performance.now() * 1000)}`),
    ...options,
  });
  await service.start();
  return service;
}

/** Hears nothing of others and tells them nothing. */
function alone(): OperationStore {
  const { runs, repairs, views } = storeOf();
  const notices = { tell: () => {}, hear: () => () => {} };
  return { runs, repairs, views, notices, start: async () => {}, stop: async () => {} };
}

/** One instance runs, the other one waits for it by the same key. */
async function attached(one: OrchestratorService, two: OrchestratorService, key: string) {
  const order = command(key, { idemKey: key, payload: { ms: 400 } });
  const running = one.submit(order, 5_000);
  await until(async () => (await one.operations.list({ bizKey: key })).items.length === 1, {
    what: 'the operation to be stored',
  });
  const handle = await two.submit(order, 5_000);
  expect(handle).toMatchObject({ completedFast: true, responseBodyOrNull: { data: 'done' } });
  expect((await running).opId).toBe(handle.opId);
}

describe('an end on another instance', () => {
  it('orchestrator NFR-3: ends the wait by a notice alone', async () => {
    const services = await Promise.all([1, 2].map(() => instance({ waitPollIntervalMs: NEVER_MS })));
    const [one, two] = services as [OrchestratorService, OrchestratorService];
    await attached(one, two, 'noticed');
    // Whoever waits for a status hears of it too.
    const slow = await one.submit(command('later', { payload: { ms: 300 } }), 50);
    const ended = await two.operations.waitForEnd(slow.opId, 5_000);
    expect(ended.state).toBe('COMPLETED');
    await Promise.all(services.map((service) => service.stop()));
  });

  it('orchestrator NFR-3: ends the wait without any notice', async () => {
    const services = await Promise.all([1, 2].map(() => instance({ store: alone() })));
    const [one, two] = services as [OrchestratorService, OrchestratorService];
    await attached(one, two, 'looked');
    await Promise.all(services.map((service) => service.stop()));
  });

  it('orchestrator NFR-3: is told by nobody when nobody waits', async () => {
    const told: string[] = [];
    const store = storeOf();
    const { runs, repairs, views } = store;
    const notices = {
      tell: (opId: string) => {
        told.push(opId);
      },
      hear: () => () => {},
    };
    const one = await instance({
      store: { runs, repairs, views, notices, start: () => store.start(), stop: () => store.stop() },
    });
    for (let index = 0; index < 5; index++) {
      const handle = await one.submit(command(`quiet-${index}`, { payload: { ms: 5 } }), 5_000);
      expect(handle.completedFast).toBe(true);
    }
    expect(told).toEqual([]);
    await one.stop();
  });
});
