import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { latch, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../../src/define-app.js';
import { serve, type TestServer } from '../serve.js';
import { ADMIN, BEN, KEYS } from '../tenant-keys.js';
import { against } from './against.js';
import { runCaptured } from './captured.js';
import { HOSTILE, SHOWN } from './sample-work.js';

/** Business keys whose `charge` fails. */
const failing = new Set<string>();
const once = { retry: { retries: 0 } };
const mayEnd = latch('the slow operation');
const NOBODY = '00000000-0000-4000-8000-000000000000';

const application = defineApp({
  dags: [
    defineDag('order', {
      // Before what it waits for: the order of the DAG is not that of the definition.
      tell: task({ after: ['ship', 'charge'], ...once, run: () => 'told' }),
      ship: task({ after: ['charge'], ...once, run: () => 'shipped' }),
      charge: task({
        mode: 'external',
        ...once,
        run: ({ batch }) => {
          if (failing.has(batch.bizKey)) throw new Error(HOSTILE);
          return 1;
        },
      }),
    }),
    defineDag('endless', {
      wait: task({
        mode: 'external',
        ...once,
        run: ({ signal }) => new Promise((_, refuse) => signal.addEventListener('abort', refuse)),
      }),
    }),
  ],
  routes: defineRoutes({
    'ORDER.PLACE': inline(({ payload }) => ({ placed: payload })),
    'ORDER.FAIL': inline(() => {
      throw new NonRetryableError(HOSTILE);
    }),
    'ORDER.SLOW': inline(() => mayEnd.promise),
  }),
});

let server: TestServer;
const run = against(() => server, ADMIN);
const body = async (path: string) => (await server.send(path, { key: ADMIN })).body;
const start = async (dag: string, bizKey: string): Promise<string> =>
  (await server.send('/api/batches', { key: ADMIN, body: { dag, bizKey } })).body.id;
const submit = async (eventType: string): Promise<string> => {
  const command = { domain: 'ORDER', eventType, bizKey: `key of ${eventType}`, payload: 7, timeBudgetMs: 50 };
  return (await server.send('/api/operations', { key: ADMIN, body: command })).body.opId;
};

beforeAll(async () => {
  server = await serve({ apiKeys: KEYS, application });
});
afterAll(async () => {
  mayEnd.open();
  await server[Symbol.asyncDispose]();
});

describe('millrace batches', () => {
  it('watches a batch to its end and shows its tasks in the order of the DAG', async () => {
    const id = await start('order', 'good');
    const { exitCode, out, err } = await run(['batches', 'watch', id], { isTerminal: true });
    expect(exitCode).toBe(0);
    expect(err).toMatch(/order good .*█+/);
    expect(out).toContain('DONE');
    const show = await run(['batches', 'show', id]);
    expect(show).toMatchObject({ exitCode: 0, err: '' });
    expect(show.out).toMatch(/^status +DONE$/m);
    expect(show.out).toMatch(/^tasks +3 done$/m);
    const rows = show.out.split('\n').slice(-7, -4);
    expect(rows[0]).toMatch(/^charge +DONE +1 of 1 +[\d.]+ m?s$/);
    expect(rows[1]).toMatch(/^ship +charge +DONE/);
    expect(rows[2]).toMatch(/^tell +(ship, charge|charge, ship) +DONE/);
    // What the last one gave.
    expect(show.out).toMatch(/\n\ntask +result\ntell +"told"\n$/);
    const json = await run(['batches', 'show', id, '--json']);
    expect(JSON.parse(json.out)).toEqual(await body(`/api/batches/${id}`));
  });

  it('tells why a batch failed, retries it or one task of it', async () => {
    failing.add('bad');
    const id = await start('order', 'bad');
    const watch = await run(['batches', 'watch', id, '--json']);
    // Nobody looks: no bars.
    expect(watch).toMatchObject({ exitCode: 1, err: '' });
    expect(JSON.parse(watch.out)).toEqual(await body(`/api/batches/${id}`));
    const show = await run(['batches', 'show', id]);
    expect(show.out).toContain(`HANDLER_FAILED: ${SHOWN}`);
    expect(show.out).not.toContain('\u001b');

    const wrong = await run(['batches', 'retry', id, '--task', 'tell']);
    expect(wrong).toMatchObject({ exitCode: 1, err: expect.stringContaining('(TASK_NOT_RETRYABLE)') });
    expect(await run(['batches', 'retry', id])).toMatchObject({ out: `Batch ${id} is RUNNING.\n` });
    expect((await run(['batches', 'watch', id])).exitCode).toBe(1);
    failing.delete('bad');
    const retry = await run(['batches', 'retry', id, '--task', 'charge', '--json']);
    expect(JSON.parse(retry.out)).toMatchObject({ id, status: 'RUNNING' });
    expect((await run(['batches', 'watch', id])).exitCode).toBe(0);
    expect((await run(['batches', 'retry', id])).out).toBe(
      `Batch ${id} is DONE: there is nothing to run again.\n`,
    );
    expect(await run(['batches', 'abort', id])).toMatchObject({
      exitCode: 1,
      out: `Batch ${id} is DONE: it had ended before.\n`,
    });
  });

  it('aborts a batch; whoever watches it sees that, or goes away', async () => {
    const id = await start('endless', 'long');
    const away = runCaptured(['batches', 'watch', id, '--url', server.url, '--api-key', ADMIN]);
    await until(() => away.events.listenerCount('SIGINT') > 0, { what: 'the watch' });
    away.events.emit('SIGINT');
    expect(await away.exitCode).toBe(130);
    expect(away.err()).toBe(
      `The work continues. Watch it with: millrace batches watch ${id} --url ${server.url}\n`,
    );
    const short = await run(['batches', 'watch', id, '--timeout', '0.01']);
    expect(short).toMatchObject({ exitCode: 1, err: 'It has not ended within 10 ms; it goes on.\n' });
    const watch = run(['batches', 'watch', id]);
    expect(await run(['batches', 'abort', id])).toMatchObject({
      exitCode: 0,
      out: `Batch ${id} is ABORTED.\n`,
    });
    expect(await watch).toMatchObject({ exitCode: 1, out: expect.stringContaining('ABORTED') });
  });

  it('lists batches by DAG, state and key', async () => {
    const list = await run(['batches', 'list']);
    expect(list.out).toMatch(/order +good +1 +DONE +3 of 3 /);
    const aborted = await run(['batches', 'list', '--status', 'ABORTED', '--dag', 'endless', '--json']);
    expect(JSON.parse(aborted.out)).toEqual(await body('/api/batches?status=ABORTED&dag=endless'));
    expect((await run(['batches', 'list', '--biz-key', 'good', '--limit', '1'])).out).not.toContain('bad');
    expect((await run(['batches', 'list', '--limit', '1'])).err).toMatch(/^There are more: --cursor/);
    expect((await run(['batches', 'list', '--biz-key', 'none'])).err).toBe('There are no such batches.\n');
  });

  it('says which batch there is not, and what cannot be meant', async () => {
    for (const verb of ['show', 'watch', 'retry', 'abort'])
      expect(await run(['batches', verb, '999999'])).toMatchObject({
        exitCode: 1,
        out: '',
        err: expect.stringContaining('(BATCH_NOT_FOUND)'),
      });
    for (const args of [['show'], ['show', 'x/y'], ['list', '--status', 'GONE'], ['list', '--limit', '0']])
      expect(await run(['batches', ...args])).toMatchObject({ exitCode: 2, out: '' });
  });
});

describe('millrace dags', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-dags-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const dag = JSON.stringify({ name: 'quick', tasks: { pay: { handler: 'order.charge' } } });

  it('applies one from a file or from standard input, and lists them', async () => {
    await writeFile(join(folder, 'quick.json'), `\ufeff${dag}`);
    const first = await run(['dags', 'apply', 'quick.json'], { folder });
    expect(first).toMatchObject({ exitCode: 0, err: '' });
    expect(first.out).toMatch(/^DAG quick is now version \d+, with 1 step\.\n$/);
    const again = await run(['dags', 'apply', '-'], { input: dag });
    expect(again.out).toMatch(/^DAG quick is version \d+, with 1 step: it was stored already\.\n$/);
    const json = await run(['dags', 'apply', '-', '--json'], { input: dag });
    expect(JSON.parse(json.out)).toMatchObject({ name: 'quick', taskCount: 1, created: false });
    const list = await run(['dags', 'list']);
    expect(list.out).toMatch(/^quick +\d+ +data .* 1 +pay$/m);
    expect(list.out).toMatch(/^order +\d+ +the application .* 3 +charge, ship, tell$/m);
    const listed = JSON.parse((await run(['dags', 'list', '--limit', '2', '--json'])).out);
    expect(listed).toEqual(await body('/api/dags?limit=2'));
  });

  it('says what is wrong with one', async () => {
    const cycle = JSON.stringify({ name: 'x', tasks: { a: { handler: 'order.charge', after: ['a'] } } });
    for (const [file, input, exitCode, says] of [
      ['none.json', '', 2, 'none.json cannot be read: ENOENT'],
      ['-', '{ "name": ', 2, 'standard input must hold JSON'],
      ['-', 'x \u001b[2J', 2, 'must hold JSON'],
      ['-', '[]', 2, '(REQUEST_INVALID)'],
      ['-', cycle, 1, '(DAG_INVALID)'],
    ] as const) {
      const ran = await run(['dags', 'apply', file], { folder, input });
      expect(ran).toMatchObject({ exitCode, out: '', err: expect.stringContaining(says) });
      expect(ran.err).not.toContain('\u001b');
    }
    const env = { MILLRACE_API_KEY: BEN };
    const operator = await run(['dags', 'apply', '-'], { input: dag, env });
    expect(operator).toMatchObject({ exitCode: 1, err: expect.stringContaining('(FORBIDDEN)') });
  });

  it('stops reading when it is interrupted', async () => {
    const reading = runCaptured(['dags', 'apply', '/dev/zero', '--url', server.url]);
    await until(() => reading.events.listenerCount('SIGINT') > 0, { what: 'the command' });
    reading.events.emit('SIGINT');
    expect(await reading.exitCode).toBe(130);
    const endless = await run(['dags', 'apply', '/dev/zero']);
    expect(endless).toMatchObject({ exitCode: 2, err: expect.stringContaining('more than 16777216 bytes') });
  });
});

describe('millrace ops', () => {
  it('waits for an operation that ends well, or badly', async () => {
    const good = await submit('PLACE');
    const waited = await run(['ops', 'wait', good]);
    expect(waited).toMatchObject({ exitCode: 0, err: '' });
    expect(waited.out).toMatch(/^state +COMPLETED$/m);
    expect(waited.out).toMatch(/^data +{"placed":7}$/m);
    const json = await run(['ops', 'wait', good, '--json']);
    expect(JSON.parse(json.out)).toEqual(await body(`/api/operations/${good}/status`));

    const bad = await submit('FAIL');
    const failed = await run(['ops', 'wait', bad]);
    expect(failed.exitCode).toBe(1);
    expect(failed.out).toContain(SHOWN);
    expect(failed.out).not.toContain('\u001b');
    // It was looked at, not waited for: that it failed is what was asked.
    expect((await run(['ops', 'show', bad])).exitCode).toBe(0);
    const late = await run(['ops', 'cancel', bad]);
    expect(late).toMatchObject({ exitCode: 1, out: `Operation ${bad} is FAILED: it had ended before.\n` });
  });

  it('says when the time was up, and cancels', async () => {
    const slow = await submit('SLOW');
    const waited = await run(['ops', 'wait', slow, '--timeout', '0.05']);
    expect(waited.exitCode).toBe(1);
    expect(waited.err).toBe('It has not ended within 0.05 s; it goes on. --timeout waits longer.\n');
    expect(waited.out).toMatch(/^state +IN_PROGRESS$/m);
    const cancelled = await run(['ops', 'cancel', slow]);
    expect(cancelled).toMatchObject({ exitCode: 0, out: `Operation ${slow} is cancelled.\n` });
    const again = await run(['ops', 'cancel', slow, '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ cancelled: true, operation: { state: 'FAILED' } });
  });

  it('lists operations by what they are and where', async () => {
    const list = await run(['ops', 'list']);
    expect(list.out).toMatch(/ORDER\.PLACE +key of PLACE +COMPLETED/);
    const dead = await run(['ops', 'list', '--dead-letters', '--domain', 'ORDER', '--json']);
    expect(JSON.parse(dead.out)).toEqual(await body('/api/operations?deadLetter=true&domain=ORDER'));
    expect((await run(['ops', 'list', '--event-type', 'FAIL', '--state', 'FAILED'])).out).not.toContain(
      'PLACE',
    );
    expect((await run(['ops', 'list', '--biz-key', 'none'])).err).toBe('There are no such operations.\n');
  });

  it('says which operation there is not, and what cannot be meant', async () => {
    for (const verb of ['show', 'wait', 'cancel'])
      expect(await run(['ops', verb, NOBODY])).toMatchObject({
        exitCode: 1,
        out: '',
        err: expect.stringContaining('(OPERATION_NOT_FOUND)'),
      });
    for (const args of [['wait', NOBODY, '--timeout', '-1'], ['list', '--state', 'x'], ['wait']])
      expect(await run(['ops', ...args])).toMatchObject({ exitCode: 2, out: '' });
  });
});
