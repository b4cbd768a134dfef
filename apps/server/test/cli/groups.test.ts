import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { latch, startTcpProxy, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { serve, type TestServer } from '../serve.js';
import { against } from './against.js';
import { runCaptured } from './captured.js';
import { echo, fail, HOSTILE, SHOWN } from './sample-work.js';
import { steady } from './steady.js';

const GROUPS = '/api/bulk/groups';
const mayEnd = latch('jobs that are held may end');

const application = defineApp({
  processors: [
    echo,
    fail,
    defineProcessor({
      type: 'held',
      process: async () => {
        await mayEnd.promise;
        return { success: true };
      },
    }),
  ],
  aggregators: [
    defineAggregator<unknown, unknown>({
      type: 'echo',
      map: ({ data }) => data,
      async reduce(all) {
        for await (const data of all) return { first: data };
        return null;
      },
    }),
  ],
});

let server: TestServer;
const run = against(() => server);
const body = async (path: string) => (await server.send(GROUPS + path)).body;
const submit = async (id: string, types: readonly string[], more: object = {}, seal = true) => {
  const jobs = types.map((processorType, n) => ({ id: `j${n}`, processorType, payload: { text: HOSTILE } }));
  const { status } = await server.send(GROUPS, { body: { group: { id, ...more }, jobs, seal } });
  expect(status).toBe(201);
};

beforeAll(async () => {
  server = await serve({ application });
});
afterAll(async () => {
  mayEnd.open();
  await server[Symbol.asyncDispose]();
});

describe('millrace groups', () => {
  it('watches a group to its end at a terminal, with a bar and what came of it', async () => {
    await submit('seen', ['echo', 'echo', 'fail'], { weight: 2, rps: 50, concurrency: 5 });
    const watch = await run(['groups', 'watch', 'seen'], { isTerminal: true, env: { NO_COLOR: '1' } });
    expect(watch.exitCode).toBe(0);
    expect(watch.err).toMatch(/seen +█+ 100 % {2}[\d.]+ per second, 1 failed, COMPLETED/);
    expect(watch.out).toMatch(/^status +COMPLETED$/m);
    expect(watch.out).toMatch(/^done +3 of 3 \(100\.0 %\)$/m);
    expect(watch.out).toMatch(/^limits +50 per second, .*5 at once/m);
    expect(watch.out).toMatch(/^success +66\.7 % of 3 jobs$/m);
    expect(watch.out).toMatch(/^tries +p50 .+, p95 .+, p99 .+/m);
    expect(watch.out).toContain(`data      {"first":{"text":"${SHOWN}"}}`);
    expect(watch.out).toMatch(/^j2 .+refused \\u001b\[2J\\u202e/m);
    expect(watch.out).not.toContain('\u001b');
    expect((await run(['groups', 'show', 'seen'])).out).toBe(watch.out);
  });

  it('prints the bodies of the API as JSON, whatever texts they hold', async () => {
    const watch = await run(['groups', 'watch', 'seen', '--json']);
    expect(steady(watch.out)).toEqual(steady(await body('/seen')));
    expect(steady((await run(['groups', 'show', 'seen', '--json'])).out)).toEqual(
      steady(await body('/seen')),
    );
    const result = await run(['groups', 'show', 'seen', '--result', '--json']);
    expect(JSON.parse(result.out)).toEqual(await body('/seen/result'));
    expect(result.out).not.toContain('\u001b');
    const list = await run(['groups', 'list', '--status', 'COMPLETED', '--json']);
    expect(steady(list.out)).toEqual(steady(await body('?status=COMPLETED')));
    expect((await run(['groups', 'list'])).out).toMatch(/^seen +COMPLETED +3 of 3 +1 /m);
  });

  it('without a terminal tells of tens of percent, and waits no longer than it is told', async () => {
    await submit('halves', ['echo', 'held'], { concurrency: 5 });
    await until(async () => (await body('/halves')).progress.done === 1, { what: 'the first job' });
    const watch = await run(['groups', 'watch', 'halves', '--timeout', '0.05']);
    expect(watch.exitCode).toBe(1);
    expect(watch.err).toMatch(
      /^50 %: 1 of 2 done, .+ per second.*\nIt has not ended within 50 ms; it goes on\.\n$/,
    );
    expect(watch.out).toMatch(/^open +1 running, 0 waiting/m);
    const pending = await run(['groups', 'show', 'halves', '--result']);
    expect(pending).toMatchObject({ exitCode: 1, out: '', err: expect.stringContaining('(RESULT_PENDING)') });
  });

  it('changes limits and takes them away', async () => {
    const args = ['--weight', '3', '--rps', '9.5', '--burst', '2', '--concurrency', 'none'];
    const limits = ['--priority', 'high', '--deadline', '2126-01-01T02:00:00+02:00', '--timeout-ms', '60000'];
    const set = await run(['groups', 'set', 'halves', ...args, ...limits, '--json']);
    expect(set).toMatchObject({ exitCode: 0, err: '' });
    expect(steady(set.out)).toEqual(steady(await body('/halves')));
    expect(JSON.parse(set.out)).toMatchObject({
      ...{ weight: 3, rps: 9.5, burst: 2, concurrency: null, priorityLevel: 'high', timeoutMs: 60_000 },
      deadline: '2126-01-01T00:00:00.000Z',
    });
    const none = await run(['groups', 'set', 'halves', '--rps', 'none', '--deadline', 'none']);
    expect(none.out).toMatch(/^limits +bursts of 2, fails after 1 min without progress$/m);
    expect(await body('/halves')).toMatchObject({ rps: null, deadline: null });
  });

  it.each([
    [['set', 'halves'], 'nothing to change'],
    [['set', 'halves', '--rps', '-1'], 'It must be a number above 0.'],
    [['set', 'halves', '--deadline', '2126-01-01'], 'It must be a time such as'],
    [['set', 'halves', '--weight', 'none'], 'It must be a number above 0.'],
    [['set', 'halves', '--burst', '0'], 'It must be a whole number from 1.'],
    [['set', 'halves', '--concurrency', '0'], 'It must be a whole number from 1.'],
    [['set', 'halves', '--timeout-ms', '0'], 'It must be a whole number from 1.'],
    [['set', 'halves', '--priority', 'first'], 'Allowed choices are high, normal, low.'],
    [['list', '--status', 'ASLEEP'], 'Allowed choices are CREATED'],
    [['watch'], "missing required argument 'group'"],
  ])('refuses %j as wrong use', async (args, message) => {
    const { exitCode, out, err } = await run(['groups', ...args]);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
    expect(err).toContain(message);
  });

  it('shows no escapes of what was given', async () => {
    const { exitCode, err } = await run(['groups', 'show', HOSTILE]);
    expect(exitCode).toBe(2);
    expect(err).toContain('(ID_INVALID)');
    expect(err).not.toContain('\u001b');
  });

  it('pauses, resumes and cancels a group; whoever watches it sees that', async () => {
    const watch = runCaptured(['groups', 'watch', 'halves', '--url', server.url]);
    const pause = await run(['groups', 'pause', 'halves', '--url', server.url]);
    expect(pause).toEqual({
      exitCode: 0,
      out: 'Group halves is RUNNING, paused.\n',
      err: `To let it go on: millrace groups resume halves --url ${server.url}\n`,
    });
    expect((await run(['groups', 'resume', 'halves'])).out).toBe('Group halves is RUNNING.\n');
    expect((await run(['groups', 'cancel', 'halves'])).out).toBe('Group halves is CANCELLED.\n');
    expect(await watch.exitCode).toBe(1);
    expect(watch.out()).toMatch(/^result +CANCELLED/m);
    expect(await run(['groups', 'cancel', 'halves'])).toMatchObject({ exitCode: 0 });
    expect(await run(['groups', 'cancel', 'seen'])).toMatchObject({
      exitCode: 1,
      out: 'Group seen is COMPLETED: it had ended before.\n',
    });
    const ended = await run(['groups', 'pause', 'seen']);
    expect(ended).toMatchObject({ exitCode: 1, out: '', err: expect.stringContaining('(GROUP_ENDED)') });
  });

  it('seals a group that was left open, which then ends', async () => {
    await submit('open', ['echo'], {}, false);
    expect((await run(['groups', 'list'])).out).toMatch(/^open +\w+, takes more jobs /m);
    const wrong = await run(['groups', 'seal', 'open', '--total', '2']);
    expect(wrong).toMatchObject({ exitCode: 1, err: expect.stringContaining('(SEAL_TOTAL_MISMATCH)') });
    expect((await run(['groups', 'seal', 'open'])).exitCode).toBe(0);
    expect((await run(['groups', 'watch', 'open'])).exitCode).toBe(0);
  });

  it.each(['show', 'watch', 'cancel', 'pause', 'seal'])(
    '%s says that there is no such group',
    async (verb) => {
      const { exitCode, out, err } = await run(['groups', verb, 'nobody']);
      expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' });
      expect(err).toMatch(/nobody.*\(GROUP_NOT_FOUND\)\nGroups of a tenant are named tenant\/id\. .*\n$/);
    },
  );

  it('says what a group waits for that stands still; whoever goes away can come back', async () => {
    await submit('stuck', ['hold', 'hold']);
    const watch = runCaptured(['groups', 'watch', 'stuck', '--url', server.url]);
    const seen = runCaptured(['groups', 'watch', 'stuck', '--url', server.url], {
      isTerminal: true,
      env: { NO_COLOR: '1' },
    });
    const reason = "No live instance has a processor for 'hold'";
    expect((await run(['groups', 'show', 'stuck'])).out).toMatch(new RegExp(`^waits for +${reason}$`, 'm'));
    expect(steady((await run(['groups', 'show', 'stuck', '--json'])).out)).toEqual(
      steady(await body('/stuck')),
    );
    for (const { err } of [watch, seen])
      await until(() => err().includes(`NO_PROCESSOR: ${reason}.`), { what: 'the reason' });
    expect(watch.err()).toMatch(/^Job j\d of group stuck is PENDING\. Before it runs:\n/);
    for (const { events } of [watch, seen]) events.emit('SIGINT');
    expect(await watch.exitCode).toBe(130);
    expect(await seen.exitCode).toBe(130);
    const again = `The work continues. Watch it with: millrace groups watch stuck --url ${server.url}\n`;
    expect(watch.err().endsWith(again)).toBe(true);
    expect(watch.err().split('Before it runs')).toHaveLength(2);
    expect(seen.err().endsWith(again)).toBe(true);
    await server.send(`${GROUPS}/stuck/cancel`, { method: 'POST' });
  });

  it('goes on watching when the server was away for a while, and says so once', async () => {
    await submit('patient', ['echo', 'held']);
    await until(async () => (await body('/patient')).progress.done === 1, { what: 'the first job' });
    const { hostname, port } = new URL(server.url);
    await using proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
    const url = proxy.url('http');
    const watch = runCaptured(['groups', 'watch', 'patient', '--url', url]);
    // Without a first answer it might be the wrong address.
    await until(() => watch.err().startsWith('50 %'), { what: 'the first look' });
    proxy.refuse(true);
    proxy.cut();
    await until(() => watch.err().includes('does not answer'), { what: 'the server is missed' });
    proxy.refuse(false);
    await until(() => watch.err().includes('again'), { what: 'the server is back' });
    mayEnd.open();
    expect(await watch.exitCode).toBe(0);
    const [, ...said] = watch.err().split('\n');
    expect(said).toEqual([
      `The server at ${url} does not answer; waiting for it.`,
      'It answers again.',
      expect.stringMatching(/^100 %: 2 of 2 done/),
      '',
    ]);
  });
});

describe('millrace tenants', () => {
  it('changes weight and limits of a tenant, and takes them away', async () => {
    const args = ['--weight', '2.5', '--rps', '50', '--burst', '5', '--concurrency', '3'];
    const set = await run(['tenants', 'set', 'acme', ...args]);
    expect(set).toMatchObject({ exitCode: 0, err: '' });
    expect(set.out).toMatch(/^weight +2\.5$/m);
    expect(set.out).toMatch(/^limits +50 per second, bursts of 5, 3 at once$/m);
    const none = ['--rps', 'none', '--burst', 'none', '--concurrency', 'none', '--json'];
    const free = await run(['tenants', 'set', 'acme', ...none]);
    expect(JSON.parse(free.out)).toEqual((await server.send('/api/bulk/tenants/acme')).body);
    expect((await run(['tenants', 'show', 'acme'])).out).toMatch(/^limits +none$/m);
  });

  it('lists shares, the busiest first', async () => {
    await submit('waiting', ['hold'], { tenant: 'acme' });
    const list = await run(['tenants', 'list']);
    expect(list).toMatchObject({ exitCode: 0, err: '' });
    expect(list.out).toMatch(/^tenant +share now +fair +weight +running +waiting +groups$/m);
    expect(list.out).toMatch(/^acme +[\d.]+ % +[\d.]+ % +2\.5 +0 +1 +1$/m);
    const json = JSON.parse((await run(['tenants', 'list', '--limit', '1', '--json'])).out);
    expect(json.tenants).toHaveLength(1);
  });

  it('refuses what cannot be', async () => {
    expect(await run(['tenants', 'show', 'nobody'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('(TENANT_NOT_FOUND)'),
    });
    for (const [args, message] of [
      [[], 'nothing to change'],
      [['--weight', 'none'], 'It must be a number above 0.'],
      [['--concurrency', '0'], 'It must be a whole number from 1.'],
    ] as const)
      expect(await run(['tenants', 'set', 'acme', ...args])).toMatchObject({
        exitCode: 2,
        err: expect.stringContaining(message),
      });
  });
});
