import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DEAD_LETTER_IDS_MAX, PAGE_SIZE_MAX } from '@millrace/contract';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LETTER_IDS_MAX, letterIds, SHOWN_AT_ONCE_MAX } from '../../src/cli/commands/dlq/letters.js';
import { KEYS, serveBulk } from '../bulk/bulk-server.js';
import type { TestServer } from '../serve.js';
import { against } from './against.js';
import { runCaptured } from './captured.js';

const LETTERS = '/api/bulk/dead-letters';
/** Clears the screen and sets the title of a terminal that obeys. */
const HOSTILE = 'no \u001b[2J\u001b]0;owned\u0007 user';
const WORD = 'abcdefghijklmnopqrstuvwxyz';
const SMTP = 'fail HANDLER_FAILED smtp refused #';

describe('millrace dlq', () => {
  let server: TestServer;
  const run = against(() => server, KEYS.admin);
  const letters = async (query = '') => (await server.send(`${LETTERS}?limit=200${query}`)).body.items.length;
  const die = async (id: string, count: number, why: (n: number) => string) => {
    const before = (await server.send('/api/bulk/queues')).body.deadLetters;
    const jobs = Array.from({ length: count }, (_, n) => ({
      id: `j${n}`,
      processorType: 'fail',
      payload: { why: why(n) },
    }));
    await server.send('/api/bulk/groups', { body: { group: { id }, jobs } });
    await until(async () => (await server.send('/api/bulk/queues')).body.deadLetters === before + count, {
      what: `${count} dead letters of ${id}`,
      deadlineMs: 10_000,
    });
  };

  beforeAll(async () => {
    server = await serveBulk();
    await die('a', 3, (n) => `smtp refused ${n}`);
    await die('acme/b', 2, (n) => `${HOSTILE} ${n}`);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('lists letters with names that other commands take, and the causes with an example', async () => {
    const list = await run(['dlq', 'list']);
    expect(list).toMatchObject({ exitCode: 0, err: '' });
    expect(list.out).toMatch(/^a\/j1 .* UTC +1 +HANDLER_FAILED +smtp refused 1$/m);
    expect(list.out).toMatch(/^acme\/b\/j0 .*no \\u001b\[2J\\u001b\]0;owned\\u0007 user 0$/m);
    expect((await run(['dlq', 'list', '--group', 'a'])).out).not.toContain('acme');
    expect((await run(['dlq', 'list', '--signature', SMTP])).out.match(/smtp/g)).toHaveLength(3);

    const causes = await run(['dlq', 'list', '--by-signature']);
    expect(causes.out).toMatch(/^ +3 .* UTC +fail HANDLER_FAILED smtp refused # +smtp refused \d$/m);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
    expect(list.out + causes.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);

    const page = await run(['dlq', 'list', '--limit', '4']);
    const [, cursor = ''] = /--cursor '(.+)'/.exec(page.err) ?? [];
    expect((await run(['dlq', 'list', '--limit', '4', '--cursor', cursor])).out.match(/UTC/g)).toHaveLength(
      1,
    );
    expect(await run(['dlq', 'list', '--group', 'none'])).toMatchObject({
      exitCode: 0,
      out: '',
      err: 'There are no such dead letters.\n',
    });
  });

  it('prints what the API says as JSON', async () => {
    const json = async (...args: string[]) => JSON.parse((await run(['dlq', 'list', '--json', ...args])).out);
    expect(await json()).toEqual((await server.send(`${LETTERS}?limit=20`)).body);
    expect(await json('--by-signature', '--group', 'a')).toEqual(
      (await server.send(`${LETTERS}?groupBy=signature&groupId=a`)).body,
    );
  });

  it('refuses what cannot be meant', async () => {
    for (const [args, says] of [
      [['redrive'], 'say which'],
      [['redrive', '--all', '--group', 'a'], "'--group <group>' cannot be used with option '--all'"],
      [['purge', '--ids', 'j1'], 'group/job'],
      [['purge', '--all', '--expect', 'many'], 'whole number'],
      [['purge', '--all'], 'Throw 5 dead letters, all there are, away for good? Pass --yes to confirm'],
      [['list', '--by-signature', '--signature', 'x'], 'cannot be used with'],
    ] as const) {
      const ran = await run(['dlq', ...args]);
      expect({ args, ...ran }).toMatchObject({ exitCode: 2, out: '', err: expect.stringContaining(says) });
    }
    expect(await letters()).toBe(5);
  });

  it('counts, asks, and moves what was confirmed', async () => {
    const no = await run(['dlq', 'purge', '--signature', SMTP], { isTerminal: true, input: 'no\n' });
    expect(no).toMatchObject({ exitCode: 1, out: '' });
    expect(no.err).toBe(
      `Throw 3 dead letters of the cause '${SMTP}' away for good? [y/N] Nothing was done.\n`,
    );
    expect(await letters()).toBe(5);

    const ids = 'a/j0,a/j0,acme/b/j1,a/none';
    const yes = await run(['dlq', 'purge', '--ids', ids], { isTerminal: true, input: 'y\n' });
    expect(yes).toMatchObject({ exitCode: 0, out: '2 dead letters thrown away.\n' });
    expect(yes.err).toContain('Throw 2 dead letters that were named away for good?');
    expect(await run(['dlq', 'purge', '--ids', ids, '--yes', '--json'])).toEqual({
      exitCode: 0,
      out: '{\n  "count": 0\n}\n',
      err: '',
    });

    const back = await run(['dlq', 'redrive', '--group', 'a', '--yes', '--json']);
    expect(JSON.parse(back.out)).toEqual({ count: 2 });
    await until(async () => (await letters('&groupId=a')) === 2, { what: 'both died again' });
  });

  it('moves nothing when others are selected than were expected', async () => {
    const before = await letters();
    const changed = await run(['dlq', 'purge', '--signature', SMTP, '--expect', '7']);
    expect(changed).toMatchObject({ exitCode: 1, out: '' });
    expect(changed.err).toBe(
      `2 dead letters are selected now, not 7; look again, then confirm (COUNT_CHANGED)\nNothing was done. To look: millrace dlq list --signature '${SMTP}'\n`,
    );
    expect(await letters()).toBe(before);
    expect(await run(['dlq', 'purge', '--all', '--expect', String(before)])).toEqual({
      exitCode: 0,
      out: `${before} dead letters thrown away.\n`,
      err: '',
    });
    expect(await run(['dlq', 'redrive', '--all', '--yes'])).toMatchObject({
      exitCode: 0,
      err: 'There are no such dead letters.\n',
    });
  });

  it('counts one by one what has more causes than a server shows at once', async () => {
    const causes = SHOWN_AT_ONCE_MAX + 5;
    await die('many', causes, (n) => `${WORD[n % 26]}${WORD[Math.floor(n / 26)]} is broken`);
    const all = await run(['dlq', 'list', '--by-signature', '--limit', '200', '--json']);
    expect(JSON.parse(all.out).signatures).toHaveLength(SHOWN_AT_ONCE_MAX);
    const purge = await run(['dlq', 'purge', '--group', 'many', '--yes']);
    expect(purge).toEqual({ exitCode: 0, out: `${causes} dead letters thrown away.\n`, err: '' });
  });

  it('a tenant reaches its own only, and who may only look moves nothing', async () => {
    const shop = await run(['dlq', 'list', '--group', 'acme/b'], { env: { MILLRACE_API_KEY: KEYS.shop } });
    expect(shop).toMatchObject({ exitCode: 1, err: expect.stringContaining('GROUP_NOT_FOUND') });
    const env = { MILLRACE_API_KEY: KEYS.reader };
    const reader = await run(['dlq', 'purge', '--all', '--expect', '0'], { env });
    expect(reader).toMatchObject({ exitCode: 1, err: expect.stringContaining('(FORBIDDEN)') });
  });
});

it('millrace dlq list --by-signature asks once, however many causes there are', async () => {
  const asked: (string | undefined)[] = [];
  const counting = createServer(({ url }, response) => {
    asked.push(url);
    const signatures = ['smtp', 'disk'].map((cause) => ({
      ...{ signature: `fail ${cause} #`, count: 3, lastFailedAt: '2026-01-01T00:00:00.000Z' },
      sample: { groupId: 'g', jobId: 'j', message: `${cause} 7` },
    }));
    response.setHeader('connection', 'close').end(JSON.stringify({ signatures }));
  }).listen(0, '127.0.0.1');
  await once(counting, 'listening');
  const { port } = counting.address() as AddressInfo;
  const args = ['dlq', 'list', '--by-signature', '--url', `http://127.0.0.1:${port}`];
  const { exitCode, out } = runCaptured(args);
  expect(await exitCode).toBe(0);
  counting.close();
  expect(out()).toMatch(/fail smtp # +smtp 7\n.*fail disk # +disk 7\n$/);
  expect(asked).toHaveLength(1);
});

describe('a server that dies in between', () => {
  it('leaves open whether it was done, and the command says so', async () => {
    const dying = createServer(({ method }, response) => {
      // No connection is left over for the next request.
      response.setHeader('connection', 'close');
      if (method !== 'GET') return response.destroy();
      const signatures = [{ signature: 'x', count: 3, lastFailedAt: '2026-01-01T00:00:00.000Z' }];
      return response.end(JSON.stringify({ signatures }));
    }).listen(0, '127.0.0.1');
    await once(dying, 'listening');
    const { port } = dying.address() as AddressInfo;
    const args = ['dlq', 'redrive', '--group', "it's", '--yes', '--url', `http://127.0.0.1:${port}`];
    const { exitCode, out, err } = runCaptured(args);
    expect({ exitCode: await exitCode, out: out() }).toEqual({ exitCode: 1, out: '' });
    expect(err()).toMatch(/^No server answers/);
    expect(err()).toContain(
      `\nSome may have been moved. To look: millrace dlq list --group 'it'\\''s' --url http://127.0.0.1:${port}\n`,
    );
    dying.close();
    await once(dying, 'close');
    const gone = runCaptured([...args, '--expect', '3']);
    expect(await gone.exitCode).toBe(1);
    expect(gone.err()).not.toContain('Some may');
  });
});

describe('what a command knows of the contract without loading it', () => {
  it('is what the contract says', () => {
    expect({ LETTER_IDS_MAX, SHOWN_AT_ONCE_MAX }).toEqual({
      LETTER_IDS_MAX: DEAD_LETTER_IDS_MAX,
      SHOWN_AT_ONCE_MAX: PAGE_SIZE_MAX,
    });
    const many = Array.from({ length: LETTER_IDS_MAX + 1 }, (_, n) => `g/${n}`);
    expect(() => letterIds(many.join())).toThrow('200 at most');
    expect(letterIds(many.slice(1).join())).toHaveLength(LETTER_IDS_MAX);
  });
});
