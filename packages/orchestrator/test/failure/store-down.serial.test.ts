import { PgDatabase } from '@millrace/postgres';
import { type PostgresServer, startPostgres, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineRoutes, inline } from '../../src/define-routes.js';
import { OrchestratorService } from '../../src/orchestrator-service.js';
import { migrateOrchestrator, PostgresOperationStore } from '../../src/postgres/index.js';
import { RouteExecutor } from '../../src/route-executor.js';
import { command } from '../world.js';

const BUDGET_MS = 300;
const LATE_MS = 100;
const GRACE_MS = 1_000;

let server: PostgresServer;
let database: PgDatabase;
let service: OrchestratorService;
/** Lets the work of `HELD.WORK` end. */
let release = () => {};

beforeAll(async () => {
  server = await startPostgres();
  database = new PgDatabase({
    url: server.url,
    callTimeoutMs: 2_000,
    connectTimeoutMs: 1_000,
    reconnectMaxMs: 100,
  });
  await migrateOrchestrator(database);
  const routes = defineRoutes({
    'QUICK.WORK': inline(() => 'done'),
    'HELD.WORK': inline(() => new Promise((resolve) => (release = () => resolve('done')))),
  });
  service = new OrchestratorService({
    executor: new RouteExecutor({ routes }),
    store: new PostgresOperationStore({ database }),
    gracePeriodMs: GRACE_MS,
    leaseMs: 60_000,
  });
  await service.start();
});
afterAll(async () => {
  await service.stop();
  await database.stop();
  await server.stop();
});

const timed = async <T>(call: Promise<T>) => {
  const at = performance.now();
  const answer = await call.catch((error: unknown) => error as T);
  return { answer, ms: performance.now() - at };
};

async function backAgain(): Promise<void> {
  await until(
    async () =>
      (await service.submit(command('again', { route: 'QUICK.WORK' }), 5_000).catch(() => undefined))
        ?.completedFast,
    { what: 'the orchestrator to work again without a restart', deadlineMs: 20_000 },
  );
}

describe('a PostgreSQL that is frozen or down', () => {
  it.each([
    ['frozen', () => server.pause(), () => server.resume()],
    ['down', () => server.stopImmediate(), () => server.restart()],
  ])(
    'orchestrator NFR-2: %s: every call is answered within its budget and 100 ms; it works again by itself',
    async (_, fail, heal) => {
      await backAgain();
      const held = service.submit(command(`held ${Math.random()}`, { route: 'HELD.WORK' }), 1_200);
      await until(async () => (await service.operations.counts()).byState.IN_PROGRESS > 0, {
        what: 'the work to run',
      });
      await fail();
      const calls = await Promise.all(
        Array.from({ length: 5 }, (__, index) =>
          timed(
            service.submit(command(`b${index}`, { route: 'QUICK.WORK', idemKey: `k${index}` }), BUDGET_MS),
          ),
        ),
      );
      for (const { answer, ms } of calls) {
        expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE', status: 503 });
        expect(ms).toBeLessThan(BUDGET_MS + LATE_MS);
      }
      // Its outcome cannot be written: the caller gets the status URL at the budget.
      release();
      expect(await held).toMatchObject({ completedFast: false });
      await heal();
      await backAgain();
      await until(async () => (await service.operations.counts()).byState.IN_PROGRESS === 0, {
        what: 'everything to have ended',
        deadlineMs: 20_000,
      });
      // The same keys now: accepted once, whether or not the first call was.
      for (let index = 0; index < 5; index++) {
        const handle = await service.submit(
          command(`b${index}`, { route: 'QUICK.WORK', idemKey: `k${index}` }),
          5_000,
        );
        expect(handle.responseBodyOrNull).toEqual({ type: 'Ok', data: 'done' });
      }
    },
    60_000,
  );

  it('orchestrator NFR-2: frozen for good: stop ends within the grace period', async () => {
    await backAgain();
    const other = new OrchestratorService({
      executor: new RouteExecutor({ routes: { 'HELD.WORK': inline(() => new Promise(() => {})) } }),
      store: new PostgresOperationStore({ database }),
      gracePeriodMs: GRACE_MS,
    });
    await other.start();
    const waiting = other.submit(command('for good', { route: 'HELD.WORK' }), 5_000);
    await until(async () => (await other.operations.list({ bizKey: 'for good' })).items.length > 0, {
      what: 'the work to run',
    });
    await server.pause();
    const { ms } = await timed(other.stop());
    expect(ms).toBeLessThan(GRACE_MS + 1_000);
    expect(await waiting).toMatchObject({ completedFast: false });
    await server.resume();
  }, 60_000);
});
