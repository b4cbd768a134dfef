import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { latch, startTcpProxy, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { serve, type TestServer } from '../serve.js';
import { against } from './against.js';
import { runCaptured } from './captured.js';
import { echo, fail, HOSTILE, SHOWN } from './sample-work.js';
import { steady } from './steady.js';

const mayEnd = latch('the slow operation');

const application = defineApp({
  processors: [echo, fail],
  dags: [
    defineDag('day', {
      close: task({
        retry: { retries: 0 },
        run: ({ payload }) => {
          if ((payload as { fails?: boolean }).fails) throw new Error(HOSTILE);
          return 1;
        },
      }),
    }),
  ],
  routes: defineRoutes({
    'ORDER.PLACE': inline(({ payload }) => ({ placed: payload })),
    'ORDER.FAIL': inline(() => {
      throw new NonRetryableError(HOSTILE);
    }),
    'ORDER.LATER': inline(
      () => {
        throw new Error('not yet');
      },
      { retry: { retries: 0 } },
    ),
    'ORDER.SLOW': inline(() => mayEnd.promise),
  }),
});

let server: TestServer;
let folder: string;
const run = against(() => server);
const body = async (path: string) => (await server.send(path)).body;
const groupOf = (id: string) => body(`/api/bulk/groups/${id}`);
const job = (id: string) => JSON.stringify({ id, processorType: 'echo' });
const padded = (id: string) =>
  JSON.stringify({ id, processorType: 'echo', payload: { processorType: 'nobody', text: 'x'.repeat(600) } });
const file = async (name: string, ...lines: string[]) => {
  await writeFile(join(folder, name), lines.join('\n'));
  return ['--jobs', name];
};

beforeAll(async () => {
  server = await serve({ application });
  folder = await mkdtemp(join(tmpdir(), 'millrace-submit-'));
});
afterAll(async () => {
  mayEnd.open();
  await rm(folder, { recursive: true });
  await server[Symbol.asyncDispose]();
});

describe('millrace submit op', () => {
  it('prints the outcome of what ends in time, with or without the word op', async () => {
    const args = ['--payload', '{"n":1}', '--biz-key', 'b', '--idem-key', 'i', '--budget', '5000'];
    const done = await run(['submit', 'ORDER.PLACE', ...args]);
    expect(done).toMatchObject({ exitCode: 0, err: '' });
    expect(done.out).toMatch(/^state +COMPLETED$/m);
    expect(done.out).toMatch(/^command +ORDER\.PLACE$/m);
    expect(done.out).toMatch(/^outcome +Ok$/m);
    expect(done.out).toMatch(/^data +\{"placed":\{"n":1\}\}$/m);
    const json = JSON.parse((await run(['submit', 'op', 'ORDER.PLACE', ...args, '--json'])).out);
    // The same key is the same operation.
    expect(done.out).toContain(json.opId);
    expect(json).toMatchObject({ status: 'COMPLETED', outcome: { data: { placed: { n: 1 } } } });
    expect(await body(`/api/operations/${json.opId}/status`)).toMatchObject({ bizKey: 'b', idemKey: 'i' });
  });

  it('takes its payload from a file or standard input', async () => {
    await writeFile(join(folder, 'payload.json'), '[1]');
    const from = async (name: string, input = '') => {
      const args = ['submit', 'ORDER.PLACE', '--payload-file', name, '--budget', '5000', '--json'];
      return JSON.parse((await run(args, { folder, input })).out).outcome.data.placed;
    };
    expect([await from('payload.json'), await from('-', '[2]')]).toEqual([[1], [2]]);
  });

  it('ends with 1 when the work has failed, and shows no escapes of its message', async () => {
    const failed = await run(['submit', 'ORDER.FAIL', '--budget', '5000']);
    expect(failed).toMatchObject({ exitCode: 1, err: '' });
    expect(failed.out).toContain(SHOWN);
    const waited = await run(['submit', 'ORDER.FAIL', '--wait']);
    expect(waited).toMatchObject({ exitCode: 1, out: expect.stringContaining(SHOWN) });
    // What both tell, they tell in the same words.
    const told = (out: string) => out.split('\n').filter((line) => /^(command|state|outcome) /.test(line));
    const words = (out: string) => told(out).map((line) => line.replace(/ +/, ' '));
    expect(words(waited.out)).toEqual(words(failed.out));
    const spent = await run(['submit', 'ORDER.LATER', '--budget', '5000']);
    expect(spent.out).toMatch(/^outcome +gave up after 1 try: .*not yet/m);
  });

  it('says where to ask about what goes on; --wait waits for the end', async () => {
    const slow = ['submit', 'ORDER.SLOW', '--idem-key', 'slow', '--biz-key', 's', '--budget', '50'];
    const { exitCode, out, err } = await run([...slow, '--url', server.url]);
    expect(exitCode).toBe(0);
    const [, opId] = /^operation +(\S+)$/m.exec(out) ?? [];
    expect(out).toContain(`${server.url}/api/operations/${opId}/status`);
    expect(err).toBe(`To wait for it: millrace ops wait ${opId} --url ${server.url}\n`);
    const json = await run([...slow, '--json']);
    expect(JSON.parse(json.out)).toMatchObject({
      opId,
      status: 'IN_PROGRESS',
      statusUrl: expect.any(String),
    });
    expect(json.err).toBe('');
    const waiting = run([...slow, '--wait', '--json']);
    mayEnd.open();
    const waited = await waiting;
    expect(waited.exitCode).toBe(0);
    expect(JSON.parse(waited.out)).toEqual(await body(`/api/operations/${opId}/status`));
  });

  it.each([
    [['ORDER'], 2, 'must be DOMAIN.EVENT_TYPE'],
    [['groups', 'x', '--jobs', 'y'], 2, "unknown command 'groups', did you mean group?"],
    [['batchs', 'x'], 2, 'did you mean batch?'],
    [['order.place'], 2, '(COMMAND_INVALID)'],
    [['ORDER.NONE'], 1, '(ROUTE_NOT_FOUND)'],
    [['ORDER.PLACE', '--payload', '{'], 2, 'It must be JSON'],
    [['ORDER.PLACE', '--payload', '1', '--payload-file', '-'], 2, 'cannot be used with'],
    [['ORDER.PLACE', '--payload-file', 'nowhere'], 2, 'nowhere cannot be read'],
    [['ORDER.PLACE', '--budget', '1'], 2, '(TIME_BUDGET_OUT_OF_RANGE)'],
    [[], 2, "missing required argument 'command'"],
  ])('refuses %j', async (args, exitCode, message) => {
    const refused = await run(['submit', ...args]);
    expect(refused).toMatchObject({ exitCode, out: '', err: expect.stringContaining(message) });
  });
});

describe('millrace submit group', () => {
  it('sends the jobs of a file, with a bar, and watches them to the end', async () => {
    const jobs = await file('many.ndjson', ...Array.from({ length: 2_000 }, (_, n) => padded(`j${n}`)));
    const args = ['submit', 'group', 'many', ...jobs, '--weight', '2', '--rps', '100000', '--watch'];
    const env = { NO_COLOR: '1' };
    const { exitCode, out, err } = await run(args, { folder, isTerminal: true, env });
    expect(exitCode).toBe(0);
    expect(err).toMatch(/many\.ndjson +█+ 100 % {2}1\.\d+ of 1\.\d+ MB sent/);
    expect(err).not.toContain('No live instance');
    expect(err).toMatch(/many +█+ 100 % /);
    expect(out).toMatch(/^done +2,000 of 2,000/m);
    expect(await groupOf('many')).toMatchObject({ weight: 2, rps: 100_000, sealed: true });
  });

  it('makes the same job many times, for a tenant; the next command can be copied', async () => {
    const args = ['--processor', 'echo', '--payload', 'null', '--count', '3', '--tenant', 'acme'];
    const made = await run(['submit', 'group', 'made', ...args], {
      isTerminal: true,
      env: { NO_COLOR: '1' },
    });
    // So little is sent at once: no bar, and nothing that one would leave.
    expect(made.err).toMatch(/^To watch it: /);
    expect(made.exitCode).toBe(0);
    expect(made.out).toMatch(/^group +acme\/made$/m);
    expect(made.out).toMatch(/^jobs +3: 3 new, 0 known before$/m);
    const [, ...next] = (/To watch it: (millrace .+)\n/.exec(made.err)?.[1] ?? '').split(' ');
    const watch = await run([...next, '--json']);
    expect(watch.exitCode).toBe(0);
    expect(steady(watch.out)).toEqual(steady(await groupOf('acme%2Fmade')));
  });

  it('leaves a group open, takes more from standard input, and says how to seal it', async () => {
    const first = await run(['submit', 'group', 'parts', '--open', '--json']);
    expect(JSON.parse(first.out)).toMatchObject({
      groupId: 'parts',
      created: true,
      registered: 0,
      sealed: false,
    });
    const input = `${job('a')}\n\n${job('b')}`;
    const more = await run(['submit', 'group', 'parts', '--jobs', '-', '--open'], { input });
    expect(more.out).toMatch(/^jobs +2: 2 new/m);
    expect(more.err).toContain('millrace groups seal parts\n');
    const last = await run(['submit', 'group', 'parts', '--jobs', '-'], { input: job('c') });
    expect(last).toMatchObject({ exitCode: 1, out: '' });
    expect(last.err).toMatch(
      /\(SEAL_TOTAL_MISMATCH\)\nThe jobs are stored\. .*: millrace groups seal parts\n$/,
    );
    expect((await groupOf('parts')).progress.registered).toBe(3);
  });

  it('names the broken line of the file, and goes on where it was when that is corrected', async () => {
    const nameless = '{"processorType":"fail"}';
    const broken = await file('broken.ndjson', nameless, nameless, `{"processorType":"${HOSTILE}",`);
    const args = ['submit', 'group', 'broken'];
    const refused = await run([...args, ...broken], { folder });
    expect(refused).toMatchObject({ exitCode: 1, out: '' });
    expect(refused.err).toMatch(
      /^broken\.ndjson, line 3: it is not JSON\. 2 jobs before it are stored\.\nRun the same command /,
    );
    const [, key = ''] =
      /with --idem-key (\S+): jobs that are stored are not stored again\.\n$/.exec(refused.err) ?? [];
    const corrected = await file('corrected.ndjson', nameless, nameless, nameless);
    const done = await run([...args, ...corrected, '--idem-key', key, '--json'], { folder });
    expect(JSON.parse(done.out)).toMatchObject({ created: false, added: 1, known: 2, sealed: true });
    expect(await run(['groups', 'watch', 'broken'])).toMatchObject({ out: expect.stringContaining(SHOWN) });
  });

  it('hears what is wrong with the first lines of a large file, and of the group itself', async () => {
    const large = await file(
      'large.ndjson',
      '[{"processorType":"echo"}]',
      ...Array.from({ length: 100_000 }, (_, n) => job(`j${n}`)),
    );
    const first = await run(['submit', 'group', 'large', ...large], { folder });
    expect(first.err).toMatch(
      /^large\.ndjson, line 1: there must be one job on each line, not a list\. No job is stored\.\nRun /,
    );
    const wrong = await file('wrong.ndjson', job('a'), '{"processorTyp":"echo"}');
    expect((await run(['submit', 'group', 'wrong', ...wrong], { folder })).err).toMatch(
      /^wrong\.ndjson, line 2: processorTyp is not known here \(did you mean 'processorType'\?\)\. 1 job before it is stored\.\nRun /,
    );
    const hostile = await run(['submit', 'group', HOSTILE, '--processor', 'echo']);
    expect(hostile).toMatchObject({ exitCode: 1, out: '' });
    // Nothing is stored: there is nothing to go on with.
    expect(hostile.err).toMatch(/^The group cannot be made: groupId must be .+\(LINE_INVALID\)\n$/);
    expect(hostile.err).not.toContain('\u001b');
  });

  it('says which processors nobody has, in a file or by name, and what may be meant; and that a file has no jobs', async () => {
    const typed = (processorType: string) => JSON.stringify({ processorType });
    const mixed = await file(
      'mixed.ndjson',
      typed('echo'),
      typed('ecko'),
      typed('fail'),
      typed('settle-accounts'),
    );
    const sent = await run(['submit', 'group', 'mixed', ...mixed, '--json'], { folder });
    expect(sent.exitCode).toBe(0);
    expect(sent.err.split('\n')).toEqual([
      'No live instance runs the processor ecko: its jobs are kept, and wait until one does. Did you mean echo?',
      expect.stringMatching(/^No live instance runs the processor settle-accounts: .* There are: .*echo/),
      '',
    ]);
    expect((await run(['submit', 'group', 'named', '--processor', 'fial'])).err).toContain(
      'Did you mean fail?',
    );
    const empty = await file('empty.ndjson', '', '');
    expect(await run(['submit', 'group', 'empty', ...empty], { folder })).toMatchObject({
      exitCode: 0,
      err: expect.stringContaining('empty.ndjson has no jobs.\n'),
    });
  });

  it('names another group when the one that is there takes no more', async () => {
    const again = ['submit', 'group', 'done-9', '--processor', 'echo'];
    expect((await run(again)).exitCode).toBe(0);
    const sealed = await run([...again, '--url', server.url]);
    expect(sealed).toMatchObject({ exitCode: 1, out: '' });
    expect(sealed.err).toMatch(
      new RegExp(`\\(GROUP_SEALED\\)\\nFor example: millrace submit group done-10 --url ${server.url} …\\n$`),
    );
  });

  it('says how to go on when the connection breaks, or when it is interrupted', async () => {
    const { hostname, port } = new URL(server.url);
    await using proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
    const jobs = await file('cut.ndjson', job('a'));
    const url = proxy.url('http');
    proxy.dropReplies(true);
    const args = ['submit', 'group', 'cut', ...jobs, '--url', url, '--idem-key', 'k'];
    const lost = runCaptured(args, { folder });
    await until(async () => (await groupOf('cut')).sealed === true, { what: 'the server has all' });
    proxy.cut();
    expect(await lost.exitCode).toBe(1);
    expect(lost.err()).toMatch(
      /^No server answers at .+\nRun the same command again, with the same --idem-key/,
    );
    const stopped = runCaptured(args, { folder });
    await until(() => proxy.connections > 0, { what: 'the second upload' });
    stopped.events.emit('SIGINT');
    expect(await stopped.exitCode).toBe(130);
    expect(stopped.err()).toMatch(/^Run the same command again/);
    proxy.dropReplies(false);
    const again = await run([...args, '--json'], { folder });
    expect(JSON.parse(again.out)).toMatchObject({ added: 0, known: 1, sealed: true });
  });

  it.each([
    [['x'], 2, 'give its jobs with --jobs FILE'],
    [['x', '--jobs', 'nowhere'], 2, 'nowhere cannot be read: ENOENT'],
    [['x', '--jobs', '.'], 2, '. cannot be read: it is a directory'],
    [['x', '--jobs', '-', '--count', '2'], 2, 'cannot be used with'],
    [['x', '--processor', 'echo', '--open', '--watch'], 2, 'cannot be used with'],
    [['x', '--processor', 'echo', '--rps', 'none'], 2, 'It must be a number above 0.'],
    [['x', '--processor', 'echo', '--burst', '0'], 2, 'It must be a whole number from 1.'],
    [['x', '--processor', 'echo', '--concurrency', '0'], 2, 'It must be a whole number from 1.'],
    [['x', '--processor', 'echo', '--idem-key', 'a b'], 2, '(ID_INVALID)'],
    [['many', '--processor', 'echo', '--weight', '9'], 1, '(GROUP_CONFLICT)'],
  ])('refuses %j', async (args, exitCode, message) => {
    const refused = await run(['submit', 'group', ...args], { folder });
    expect(refused).toMatchObject({ exitCode, out: '', err: expect.stringContaining(message) });
    // Nothing is stored.
    expect(refused.err).not.toContain('--idem-key ');
  });
});

describe('millrace submit batch', () => {
  it('starts a batch once for each key', async () => {
    const args = ['submit', 'batch', 'day', '--biz-key', 'monday'];
    const started = await run([...args, '--json']);
    expect(started).toMatchObject({ exitCode: 0, err: '' });
    const { id, created } = JSON.parse(started.out);
    expect(created).toBe(true);
    const watched = await run([...args, '--watch', '--json']);
    expect(watched.exitCode).toBe(0);
    expect(JSON.parse(watched.out)).toEqual(await body(`/api/batches/${id}`));
    const known = await run(args);
    expect(known.out).toMatch(new RegExp(`^batch +${id}$`, 'm'));
    expect(known.err).toMatch(
      /^The key has this batch already: DONE\. .*\nTo watch it: millrace batches watch \d+\n$/,
    );
    expect(JSON.parse((await run([...args, '--rerun', '--json'])).out)).toMatchObject({ runNo: 2 });
  });

  it('ends with 1 when the batch that it watches fails, and refuses what cannot be', async () => {
    const args = ['submit', 'batch', 'day', '--biz-key', 'tuesday', '--payload', '{"fails":true}', '--watch'];
    const failed = await run(args);
    expect(failed).toMatchObject({ exitCode: 1, out: expect.stringContaining(SHOWN) });
    expect(await run(['submit', 'batch', 'none', '--biz-key', 'x'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('(DAG_NOT_FOUND)'),
    });
  });

  it('makes a key where none is given, and says it', async () => {
    const UUID = '[0-9a-f]{8}-[0-9a-f-]{27}';
    expect((await run(['submit', 'batch', 'day'])).out).toMatch(new RegExp(`^key +${UUID}$`, 'm'));
    expect((await run(['submit', 'batch', 'day', '--watch'])).err).toMatch(
      new RegExp(`^Its key: ${UUID}$`, 'm'),
    );
  });
});
