import { createServer, type Server } from 'node:net';
import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { type PostgresSandbox, postgresSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCaptured } from './captured.js';

/** Nothing listens there: it is reserved. */
const AWAY = '127.0.0.1:1';

const run = async (args: readonly string[], env: Record<string, string> = {}) => {
  const { exitCode, out, err } = runCaptured(args, { env });
  return { exitCode: await exitCode, out: out(), err: err() };
};

describe('millrace', () => {
  it('shows its help and its version', async () => {
    expect(await run(['--help'])).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('start [options]'),
    });
    expect(await run(['--version'])).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it('refuses what it does not know, with what is near', async () => {
    expect(await run(['strat'])).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('Did you mean start?'),
    });
    const flag = await run(['start', '--prot', '1']);
    expect(flag).toMatchObject({ exitCode: 2, err: expect.stringContaining('Did you mean --port?') });
  });

  it('tells all that is wrong with the settings', async () => {
    const { exitCode, err } = await run(['start', '--role', 'boss'], { PORT: 'x', MILLRACE_SCHEME: 'y' });
    expect(exitCode).toBe(2);
    expect(err.split('\n')).toEqual([
      'The configuration cannot be used:',
      '  the variable MILLRACE_SCHEME is not known; did you mean MILLRACE_SCHEMA?',
      "  PORT must be an integer from 0 to 65535, got 'x'",
      "  --role must be one of all, api, worker, got 'boss'",
      '',
    ]);
  });

  it('shows the settings and where they come from, without secrets', async () => {
    const env = { REDIS_URL: 'redis://:planted-secret@h:1', PORT: '4000' };
    const table = await run(['config'], env);
    expect(table.out).toMatch(/^port +4000 +\(PORT\)$/m);
    expect(table.out).toMatch(/^redisUrl +redis:\/\/:\*\*\*@h:1 +\(REDIS_URL\)$/m);
    expect(table.out).toMatch(/^databaseUrl +- +\(default\)$/m);
    const json = await run(['config', '--json'], env);
    expect(JSON.parse(json.out)).toContainEqual({ setting: 'port', value: 4000, source: 'PORT' });
    expect(table.out + json.out).not.toContain('planted-secret');
  });
});

describe('millrace migrate', () => {
  it('needs a database, and says where it is when it is away', async () => {
    expect(await run(['migrate'])).toMatchObject({
      exitCode: 2,
      err: expect.stringMatching(/needs DATABASE_URL/),
    });
    const DATABASE_URL = `postgres://user:planted-secret@${AWAY}/x`;
    const { exitCode, err } = await run(['migrate'], { DATABASE_URL, MILLRACE_START_WAIT_MS: '1' });
    expect(exitCode).toBe(1);
    expect(err).toContain(`PostgreSQL at postgres://${AWAY}/x cannot be used`);
    expect(err).not.toContain('planted-secret');
  });
});

describe('millrace start', () => {
  let sandbox: PostgresSandbox;
  let busy: Server;
  beforeAll(async () => {
    sandbox = await postgresSandbox();
    busy = createServer().listen(0, '127.0.0.1');
    await until(() => busy.listening, { what: 'a port to be in use' });
  });
  afterAll(async () => {
    busy.close();
    await sandbox.drop();
  });
  const env = (more: Record<string, string> = {}) => ({ DATABASE_URL: sandbox.url, PORT: '0', ...more });

  it('says what to run when the tables are missing, and serves when it was run', async () => {
    const before = await run(['start'], env());
    expect(before).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('The command is: millrace migrate'),
    });
    const { exitCode, out } = await run(['migrate'], env());
    expect({ exitCode, out }).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('applied 0001-server\n'),
    });
    expect((await run(['migrate'], env())).out).toBe('Schema millrace is up to date.\n');
    expect(JSON.parse((await run(['migrate', '--json'], env())).out)).toEqual({ applied: [] });
  });

  it('serves until SIGTERM, and once more changes nothing', async () => {
    const { events, exitCode, out, err } = runCaptured(['start'], { env: env() });
    const url = await until(() => /serves (\S+)/.exec(err())?.[1], {
      what: 'the address',
      deadlineMs: 15_000,
    });
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    events.emit('SIGTERM');
    events.emit('SIGTERM');
    expect(await exitCode).toBe(0);
    expect(err()).toContain('SIGTERM: letting work end, within 29 s.\n');
    for (const line of out().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level');
    await expect(fetch(url)).rejects.toThrow();
    expect(events.eventNames()).toEqual([]);
  });

  it('does not go on with a start that was told to end', async () => {
    const { events, exitCode, err } = runCaptured(['start'], { env: env() });
    await until(() => events.listenerCount('SIGINT') > 0, { what: 'the start' });
    events.emit('SIGINT');
    expect(await exitCode).toBe(0);
    expect(err()).toBe('SIGINT: stopping, when this step of the start is over. Once more ends at once.\n');
  });

  it('says which port is in use', async () => {
    const { port } = busy.address() as { port: number };
    const { exitCode, err } = await run(['start', '--port', String(port)], env());
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: `Cannot listen on 127.0.0.1:${port}: the port is in use. Does another server run there? Stop it, or choose another port (--port N, or PORT=N)\n`,
    });
  });

  it('looks at the port before anything else', async () => {
    const { port } = busy.address() as { port: number };
    const nowhere = { DATABASE_URL: `postgres://${AWAY}/x`, PORT: String(port) };
    const { err } = await run(['start', '--app', 'none.js'], nowhere);
    expect(err).toMatch(/^Cannot listen on /);
  });

  it('refuses an application that does not load, and an open door', async () => {
    const app = await run(['start', '--app', 'none.js'], env());
    expect(app).toMatchObject({
      exitCode: 1,
      err: expect.stringMatching(/^The application none\.js cannot be used/),
    });
    expect(app.err).not.toMatch(/^\s+at /m);
    const door = await run(['start', '--host', '0.0.0.0'], env());
    expect(door).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('MILLRACE_API_KEYS=name:role:secret'),
    });
  });

  it('waits for a backend that is away, saying so once, then gives up; a signal ends the wait', async () => {
    const away = { REDIS_URL: `redis://:planted-secret@${AWAY}`, MILLRACE_START_WAIT_MS: '100' };
    const { exitCode, out, err } = await run(['start'], env(away));
    expect(exitCode).toBe(1);
    expect(err).toMatch(
      /^Redis at redis:\/\/127\.0\.0\.1:1 cannot be used: .* Start it, or correct REDIS_URL\n$/,
    );
    expect(out + err).not.toContain('planted-secret');
    const patient = runCaptured(['start'], {
      env: env({ ...away, MILLRACE_START_WAIT_MS: '60000' }),
      isTerminal: true,
    });
    await until(() => /Redis is away: waiting for it/.test(patient.out()), {
      what: 'a line',
      deadlineMs: 10_000,
    });
    patient.events.emit('SIGINT');
    expect(await patient.exitCode).toBe(0);
    // All of the log, at a terminal: what goes wrong, in words.
    expect(patient.out()).toMatch(
      /^\d\d:\d\d:\d\d warn {2}Redis is away: waiting for it backend=Redis address=redis:\/\/127\.0\.0\.1:1 withinMs=60000\n$/,
    );
    expect(patient.err()).toBe(
      'SIGINT: stopping, when this step of the start is over. Once more ends at once.\n',
    );
  });

  it('writes the log that was asked for, at a terminal too', async () => {
    const { port } = busy.address() as { port: number };
    const asked = env({ PORT: String(port), MILLRACE_LOG_LEVEL: 'debug' });
    const { exitCode, out } = runCaptured(['start'], { env: asked, isTerminal: true });
    expect(await exitCode).toBe(1);
    expect(JSON.parse(out())).toMatchObject({ level: 'debug', msg: 'The start has failed' });
  });

  it('is told by PostgreSQL who it is not', async () => {
    const DATABASE_URL = sandbox.url.replace(/\/[^/]*$/, '/none');
    const { exitCode, err } = await run(['start'], { ...env(), DATABASE_URL });
    expect(exitCode).toBe(1);
    expect(err).toMatch(/^PostgreSQL at \S+\/none cannot be used: database "none" does not exist/);
  });

  it('leaves nothing open', async () => {
    await using database = new PgDatabase({ url: sandbox.url, logger: silentLogger });
    const others = async () =>
      (
        await database.query<{ n: string }>(
          `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        )
      ).rows[0]?.n;
    await until(async () => Number(await others()) === 0, { what: 'the connections to be closed' });
  });
});
