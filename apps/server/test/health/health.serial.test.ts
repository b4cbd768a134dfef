import { type PostgresServer, type RedisServer, startPostgres, startRedis, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Received, serve, type TestServer } from '../serve.js';
import { migrated, redisCommand } from './backends.js';

/** A check may take a second; the rest is for a machine that is busy. */
const ANSWER_MS = 2_500;
/** The engine gives up its connections and makes new ones. */
const RECOVERY_MS = 15_000;

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string | null;
  readonly since: string | null;
}

describe('readiness, with backends that fail', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let server: TestServer;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    const databaseUrl = await migrated(postgres.url);
    server = await serve({ databaseUrl, redisUrl: redis.url, gracePeriodMs: 1_000 });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await Promise.all([postgres?.stop(), redis?.stop()]);
  });

  const look = async (): Promise<Received> => server.send('/health/ready');
  const checkOf = ({ body }: Received, name: string) =>
    (body.checks as Check[]).find((check) => check.name === name) as Check;
  const untilStatus = (status: number) =>
    until(async () => look().then((answer) => (answer.status === status ? answer : undefined)), {
      what: `readiness ${status}`,
      deadlineMs: RECOVERY_MS,
    });
  const timed = async (send: () => Promise<Received>): Promise<Received> => {
    const from = performance.now();
    const answer = await send();
    expect(performance.now() - from).toBeLessThan(ANSWER_MS);
    return answer;
  };

  it('frozen backends make it not ready within a second, with the time since; thawed, it is ready without a restart', async () => {
    const backends = ['redis', 'database'];
    await Promise.all([redis.pause(), postgres.pause()]);
    try {
      const bad = await until(
        async () =>
          timed(look).then((answer) => backends.every((name) => !checkOf(answer, name).ok) && answer),
        { what: 'not ready', deadlineMs: RECOVERY_MS },
      );
      expect(bad.status).toBe(503);
      const again = await timed(look);
      for (const name of backends) {
        expect(checkOf(bad, name)).toMatchObject({ message: expect.any(String), since: expect.any(String) });
        expect(checkOf(again, name).since).toBe(checkOf(bad, name).since);
      }
      expect((await timed(() => server.send('/health/live'))).status).toBe(200);
      const scraped = await timed(() => server.send('/metrics'));
      expect(scraped.status).toBe(200);
      expect(scraped.body).toContain('process_resident_memory_bytes');
    } finally {
      await Promise.all([redis.resume(), postgres.resume()]);
    }
    const well = await untilStatus(200);
    for (const name of backends) expect(checkOf(well, name)).toMatchObject({ ok: true, since: null });
    const told = server.lines.filter((line) => /not ready|well again/.test(line));
    expect(told.map((line) => JSON.parse(line).check).toSorted()).toEqual([
      'database',
      'database',
      'redis',
      'redis',
    ]);
  });

  it('a Redis that may evict makes it not ready, and says what to set', async () => {
    await redisCommand(redis.url, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const { message } = checkOf(await untilStatus(503), 'redis');
    expect(message).toContain('CONFIG SET maxmemory-policy noeviction');
    await redisCommand(redis.url, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await untilStatus(200);
  });

  it('a Redis whose user may not run INFO is well, with a note', async () => {
    await redisCommand(redis.url, 'ACL', 'SETUSER', 'default', '-info');
    const noted = await until(
      async () => look().then((answer) => (checkOf(answer, 'redis').message ? answer : undefined)),
      { what: 'a note', deadlineMs: RECOVERY_MS },
    );
    expect(checkOf(noted, 'redis')).toMatchObject({
      ok: true,
      since: null,
      message: expect.stringContaining('+info'),
    });
    expect(noted.status).toBe(200);
    await redisCommand(redis.url, 'ACL', 'SETUSER', 'default', '+info');
  });
});
