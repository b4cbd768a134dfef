import { createECDH } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RedisConnection } from '@millrace/redis';
import { type PostgresServer, type RedisServer, startPostgres, startRedis, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MillraceProcess, runMillrace } from './millrace-process.js';

const APP = fileURLToPath(new URL('stuck-app.mjs', import.meta.url));
const GRACE_MS = 2_500;
/** In every place where a secret can be; none of them may be seen. */
const PLANTED = {
  apiKey: 'planted-api-key-of-29-letters',
  redis: 'planted-redis-password',
  postgres: 'planted-postgres-"password"',
  smtp: 'planted-smtp-password',
  chat: 'planted-chat-key',
};
const CASES = ['idle', 'busy', 'frozen', 'gone'] as const;

const pair = createECDH('prime256v1');
const VAPID = {
  VAPID_PUBLIC_KEY: pair.generateKeys('base64url'),
  VAPID_PRIVATE_KEY: pair.getPrivateKey('base64url'),
  VAPID_SUBJECT: 'mailto:ops@example.com',
};

describe('a server that is told to end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-stop-'));
  let redis: RedisServer;
  let postgres: PostgresServer;
  let servers: Readonly<Record<(typeof CASES)[number], MillraceProcess>>;
  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
    await using connection = new RedisConnection({ url: redis.url });
    await connection.call('CONFIG', ['SET', 'requirepass', PLANTED.redis]);
    await using migration = runMillrace(['migrate'], { folder, env: environment() });
    expect(await migration.ended, migration.err()).toMatchObject({ code: 0 });
    servers = Object.fromEntries(CASES.map((name) => [name, start()])) as typeof servers;
    await Promise.all(CASES.map((name) => servers[name].url()));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(CASES.map((name) => servers[name][Symbol.asyncDispose]()));
    await Promise.all([redis.stop(), postgres.stop()]);
    rmSync(folder, { recursive: true });
  });

  const start = () => runMillrace(['start', '--port', '0', '--app', APP], { folder, env: environment() });

  function environment(): Record<string, string> {
    const password = encodeURIComponent(PLANTED.postgres);
    return {
      ...VAPID,
      REDIS_URL: redis.url.replace('//', `//:${PLANTED.redis}@`),
      DATABASE_URL: postgres.url.replace('@', `:${password}@`),
      MILLRACE_API_KEYS: `ann:admin:${PLANTED.apiKey}`,
      MILLRACE_GRACE_PERIOD_MS: String(GRACE_MS),
      MILLRACE_LOG_LEVEL: 'debug',
      SMTP_URL: `smtp://user:${PLANTED.smtp}@127.0.0.1:1`,
      CHAT_API_URL: 'http://127.0.0.1:1',
      CHAT_API_KEY: PLANTED.chat,
      CHAT_MODEL: 'none',
    };
  }

  const send = async (address: string, given?: object) => {
    const response = await fetch(address, {
      headers: { authorization: `Bearer ${PLANTED.apiKey}`, 'content-type': 'application/json' },
      ...(given && { method: 'POST', body: JSON.stringify(given) }),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is what it checks.
    const body: any = isStream ? {} : await response.json();
    return { status: response.status, response, body };
  };

  /** Work that does not end, and somebody who watches it. */
  async function keepBusy(url: string): Promise<{ readonly streamEnded: Promise<unknown> }> {
    const submit = (eventType: string) =>
      send(`${url}/api/operations`, {
        domain: 'STUCK',
        eventType,
        bizKey: url,
        timeBudgetMs: 50,
      });
    const accepted = async () => {
      const answer = await submit('WAIT');
      return answer.status === 202 && answer;
    };
    // A server that was frozen with its backends needs a moment.
    const wait = await until(accepted, {
      what: 'an operation to be accepted',
      deadlineMs: 15_000,
      intervalMs: 100,
    });
    await Promise.all([submit('JOBS'), submit('TELL')]);
    const stream = await send(`${url}/api/operations/${wait.body.opId}/events`);
    expect(stream.status).toBe(200);
    return { streamEnded: stream.response.text().catch(() => 'cut off') };
  }

  async function expectEnd(server: MillraceProcess, signal: NodeJS.Signals): Promise<void> {
    const from = performance.now();
    server.kill(signal);
    const { code } = await server.ended;
    expect(code, server.err()).toBe(0);
    expect(performance.now() - from).toBeLessThan(GRACE_MS);
  }

  it('ends at once when nothing runs', async () => {
    await expectEnd(servers.idle, 'SIGINT');
    expect(servers.idle.out()).not.toContain('The grace period is over');
  });

  it('refuses new requests, ends streams and leaves work behind that ignores its signal', async () => {
    const url = await servers.busy.url();
    const { streamEnded } = await keepBusy(url);
    servers.busy.kill('SIGTERM');
    const looking = async () => {
      const answer = await send(`${url}/health/ready`);
      return answer.status === 503 && answer;
    };
    const { body } = await until(looking, { what: 'the server not to be ready' });
    expect(body.checks).toContainEqual(expect.objectContaining({ name: 'stopping', ok: false }));
    const refused = await send(`${url}/api/operations`);
    expect(refused).toMatchObject({ status: 503, body: { code: 'SERVER_STOPPING' } });
    await streamEnded;
    await expectEnd(servers.busy, 'SIGTERM');
  });

  it('ends in time with Redis and PostgreSQL frozen under its work', async () => {
    const { streamEnded } = await keepBusy(await servers.frozen.url());
    await Promise.all([redis.pause(), postgres.pause()]);
    try {
      await expectEnd(servers.frozen, 'SIGTERM');
      await streamEnded;
    } finally {
      await Promise.all([redis.resume(), postgres.resume()]);
    }
  });

  it('ends in time with Redis and PostgreSQL gone', async () => {
    await keepBusy(await servers.gone.url());
    await Promise.all([redis.kill(), postgres.kill()]);
    await expectEnd(servers.gone, 'SIGTERM');
  });

  it('has shown no secret, whatever went wrong', () => {
    const secrets = [
      ...Object.values(PLANTED),
      VAPID.VAPID_PRIVATE_KEY,
      encodeURIComponent(PLANTED.postgres),
    ];
    const lines = CASES.flatMap((name) => `${servers[name].out()}\n${servers[name].err()}`.split('\n'));
    expect(lines.filter((line) => line.includes('MILLRACE_API_KEYS')).length).toBeGreaterThan(0);
    for (const secret of secrets) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([]);
      const asJson = JSON.stringify(secret).slice(1, -1);
      expect(lines.filter((line) => line.includes(asJson))).toEqual([]);
    }
  });
});
