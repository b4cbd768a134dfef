import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { type PostgresServer, type RedisServer, startPostgres, startRedis, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrateServer } from '../../src/compose/migrate.js';
import { FIXTURE_APP } from '../security/fixture-app.js';
import { type Received, serve, type TestServer } from '../serve.js';

/** A call to Redis may take 2 s, one to PostgreSQL 5; the rest is for a machine that is busy. */
const ANSWER_MS = 7_000;
/** The budget of a command, and what an answer may take beyond it. */
const BUDGET_MS = 500;
const BUDGET_SLACK_MS = 1_000;

describe('a backend that is away', () => {
  let redis: RedisServer;
  let postgres: PostgresServer;
  let server: TestServer;

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
    {
      await using database = new PgDatabase({ url: postgres.url, logger: silentLogger });
      await migrateServer(database, { schema: 'millrace' });
    }
    server = await serve({ application: FIXTURE_APP, redisUrl: redis.url, databaseUrl: postgres.url });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await Promise.all([redis.stop(), postgres.stop()]);
  });

  const submitGroup = (id: string) =>
    server.send('/api/bulk/groups', {
      body: { group: { id }, jobs: [{ id: '1', processorType: 'fixture.ok' }] },
    });
  const submitCommand = (bizKey: string) =>
    server.send('/api/operations', {
      body: { domain: 'FIXTURE', eventType: 'ECHO', bizKey, timeBudgetMs: BUDGET_MS },
    });
  const startBatch = (bizKey: string) =>
    server.send('/api/batches', { body: { dag: 'fixture-dag', bizKey } });

  async function timed(work: () => Promise<Received>): Promise<Received & { ms: number }> {
    const startedAt = performance.now();
    const received = await work();
    return { ...received, ms: performance.now() - startedAt };
  }

  function expectLater({ status, headers, body, ms }: Received & { ms: number }, mostMs: number): void {
    expect(status).toBe(503);
    expect(body).toMatchObject({ retryable: true });
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(ms).toBeLessThan(mostMs);
  }

  const ready = async () => (await server.send('/health/ready')).status === 200;
  const readyAgain = () => until(ready, { what: 'the server to be ready again', deadlineMs: 15_000 });

  it.each(['frozen', 'down'])(
    'Redis %s: bulk answers 503 with Retry-After, the rest works, and it comes back',
    async (how) => {
      await (how === 'frozen' ? redis.pause() : redis.kill());
      const [group, command, batch] = await Promise.all([
        timed(() => submitGroup(`while-${how}`)),
        timed(() => submitCommand(`redis-${how}`)),
        timed(() => startBatch(`redis-${how}`)),
      ]);
      expectLater(group, ANSWER_MS);
      expect(command.status).toBe(200);
      expect(batch.status).toBe(201);
      const health = await server.send('/health/ready');
      expect(health.status).toBe(503);
      expect(health.body.checks).toContainEqual(expect.objectContaining({ name: 'redis', ok: false }));
      await (how === 'frozen' ? redis.resume() : redis.restart());
      await readyAgain();
      await until(async () => (await submitGroup(`after-${how}`)).status === 201, {
        what: 'bulk to work again',
        deadlineMs: 15_000,
      });
      await until(
        async () => (await server.send(`/api/bulk/groups/after-${how}`)).body.progress.status === 'COMPLETED',
        { what: 'the group to be done', deadlineMs: 15_000 },
      );
    },
  );

  it.each(['frozen', 'down'])(
    'PostgreSQL %s: commands are answered within their budget, bulk works, and it comes back',
    async (how) => {
      await (how === 'frozen' ? postgres.pause() : postgres.kill());
      const [command, batch, group] = await Promise.all([
        timed(() => submitCommand(`postgres-${how}`)),
        timed(() => startBatch(`postgres-${how}`)),
        timed(() => submitGroup(`bulk-while-postgres-${how}`)),
      ]);
      expectLater(command, BUDGET_MS + BUDGET_SLACK_MS);
      expectLater(batch, ANSWER_MS);
      expect(group.status).toBe(201);
      const health = await server.send('/health/ready');
      expect(health.body.checks).toContainEqual(expect.objectContaining({ name: 'database', ok: false }));
      await (how === 'frozen' ? postgres.resume() : postgres.restart());
      await readyAgain();
      await until(async () => (await submitCommand(`after-postgres-${how}`)).status === 200, {
        what: 'commands to work again',
        deadlineMs: 15_000,
      });
      await until(async () => (await startBatch(`after-postgres-${how}`)).status < 300, {
        what: 'batches to work again',
        deadlineMs: 15_000,
      });
    },
  );
});
