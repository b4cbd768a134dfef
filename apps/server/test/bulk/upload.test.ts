import { connect } from 'node:net';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../serve.js';
import { jobs, KEYS, lines, NDJSON, serveBulk } from './bulk-server.js';

const GROUPS = '/api/bulk/groups';
/** A job whose times have to be read. */
const LATER = { notBefore: '2126-01-01T00:00:00Z' };

describe('bodies of lines', () => {
  let server: TestServer;
  beforeAll(async () => {
    // Nobody runs jobs: they are still there when a test looks.
    server = await serveBulk({
      bulk: { workerPool: { enabled: false }, limits: { tenantQueuedJobsMax: 21_000 } },
      limits: { jobsPerUpload: 20_000, uploadStallMs: 1_000 },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const upload = (body: unknown, headers: Record<string, string> = {}, query = '') =>
    server.send(`${GROUPS}${query}`, { body, headers: { ...NDJSON, ...headers } });
  const groupOf = async (id: string) => (await server.send(`${GROUPS}/${id}`)).body;

  it('20,000 lines are 20,000 jobs; sent again they are the same', async () => {
    const body = lines({ id: 'many' }, ...jobs(20_000));
    const { status, body: answer } = await upload(body);
    expect(status).toBe(201);
    expect(answer).toMatchObject({ groupId: 'many', created: true, added: 20_000, known: 0, sealed: true });
    expect((await upload(body)).body).toMatchObject({ created: false, added: 0, known: 20_000 });
  });

  it('blank lines, CRLF, spaces and a missing last newline change nothing', async () => {
    const [first, second] = jobs(2).map((job) => JSON.stringify(job));
    const body = `\r\n{"id":"blank"}\r\n\n  ${first}\r\n \t\r\n${second}`;
    expect((await upload(body)).body).toMatchObject({ added: 2, registered: 2, sealed: true });
    expect((await upload('{"id":"none"}\n')).body).toMatchObject({ registered: 0, sealed: true });
  });

  it('seal=false leaves the group open for more lines', async () => {
    const { body } = await upload(lines({ id: 'more' }, ...jobs(3)), {}, '?seal=false');
    expect(body).toMatchObject({ added: 3, sealed: false });
    const add = await server.send(`${GROUPS}/more/jobs`, { body: lines(...jobs(5)), headers: NDJSON });
    expect(add).toMatchObject({ status: 200, body: { groupId: 'more', added: 2, known: 3, registered: 5 } });
    // Registered twice is registered once: then the number of lines is not that of the jobs.
    const twice = await upload(lines({ id: 'twice' }, ...jobs(2), ...jobs(2)));
    expect(twice).toMatchObject({ status: 409, body: { code: 'SEAL_TOTAL_MISMATCH' } });
  });

  it('a broken line in the middle: all before it are stored, the group is open, and all may be sent again', async () => {
    const all = jobs(3_000, LATER).map((job) => JSON.stringify(job));
    const broken = all.with(2_499, '{"id":"j2499",');
    const { status, body } = await upload(lines({ id: 'broken' }, ...broken));
    expect([status, body.code]).toEqual([422, 'LINE_INVALID']);
    expect(body.line).toEqual({ number: 2_501, reason: 'it is not JSON', stored: 2_499 });
    expect(body.detail).toMatch(
      /^Line 2501 cannot be taken: it is not JSON\. The 2499 jobs before it are stored/,
    );
    expect(await groupOf('broken')).toMatchObject({ sealed: false, progress: { registered: 2_499 } });
    expect((await upload(lines({ id: 'broken' }, ...all))).body).toMatchObject({
      added: 501,
      known: 2_499,
      registered: 3_000,
      sealed: true,
    });
  });

  it.each([
    ['a cost beyond the limit', { processorType: 'sum', cost: 5_000 }, 'cost must be an integer'],
    [
      'an unknown field',
      { processorType: 'sum', cots: 1 },
      "cots is not known here (did you mean 'cost'?). The",
    ],
    ['no processor', { id: 'x' }, 'processorType'],
    ['an id that is none', { id: 'a b', processorType: 'sum' }, 'jobId must be'],
    ['a list', [1], 'one job on each line, not a list'],
    ['the beginning of a list', '[', 'one job on each line, not a list'],
    ['a text', '"job"', 'expected object'],
    ['null', 'null', 'expected object'],
    ['a time that is none', { processorType: 'sum', notBefore: 5 }, 'notBefore'],
    ['too large a payload', { processorType: 'sum', payload: 'x'.repeat(270_000) }, 'payload'],
    ['too long a line', { processorType: 'sum', payload: 'x'.repeat(300_000) }, 'more than 278528 bytes'],
    ['a forbidden name', '{"processorType":"sum","payload":{"__proto__":{}}}', '__proto__'],
  ])('names the line with %s', async (what, wrong, reason) => {
    const id = what.replaceAll(' ', '-');
    const body = lines({ id }, ...jobs(700), '', wrong, ...jobs(1_300));
    const { status, body: problem } = await upload(body);
    expect([status, problem.code]).toEqual([422, 'LINE_INVALID']);
    expect(problem.detail).toContain('Line 703 ');
    expect(problem.detail).toContain('The 700 jobs before it');
    expect(problem.detail).toContain(reason);
    expect(await groupOf(id)).toMatchObject({ sealed: false, progress: { registered: 700 } });
  });

  it('names a line that is not UTF-8', async () => {
    const text = lines({ id: 'latin' }, ...jobs(2), '{"processorType":"sum","payload":"?"}', ...jobs(9));
    const bytes = Buffer.from(text);
    bytes[bytes.indexOf('?')] = 0xe9;
    const body = new Blob([bytes]).stream();
    const { body: problem } = await upload(body);
    expect(problem).toMatchObject({ code: 'LINE_INVALID', status: 422 });
    expect(problem.detail).toMatch(/^Line 4 cannot be taken: it is not UTF-8\. The 2 jobs/);
  });

  it('the first line is the group: without one, or with a wrong one, nothing is stored', async () => {
    for (const [body, reason] of [
      ['', 'the group is missing'],
      ['\n\n', 'the group is missing'],
      [lines({ id: 'w', wieght: 1 }, ...jobs(1)), 'wieght: is not known here'],
      [lines({ id: 'w', weight: 1e9 }, ...jobs(1)), 'weight must be'],
      [lines({ id: 'w w' }, ...jobs(1)), 'groupId must be'],
      ['[]', 'expected object'],
    ] as const) {
      const { status, body: problem } = await upload(body);
      expect([status, problem.code], body).toEqual([422, 'LINE_INVALID']);
      expect(problem.detail).toContain(reason);
      expect(problem.detail).toContain('The 0 jobs');
    }
    expect((await groupOf('w')).code).toBe('GROUP_NOT_FOUND');
  });

  it('ids that are left out come of the Idempotency-Key and the position, over all batches', async () => {
    const nameless = Array.from({ length: 2_500 }, () => '{"processorType":"sum"}');
    const body = lines({ id: 'keyed' }, ...nameless);
    const send = (text: string, key: string) => upload(text, { 'idempotency-key': key });
    expect((await send(lines({ id: 'keyed' }, ...nameless.slice(0, 1_700), '{'), 'k')).status).toBe(422);
    expect((await send(body, 'k')).body).toMatchObject({ added: 800, known: 1_700, registered: 2_500 });
    expect((await send(body, 'k')).body).toMatchObject({ added: 0, known: 2_500 });
    expect((await server.send(`${GROUPS}/keyed/jobs/k:2499`)).status).toBe(200);
    expect(await send(lines({ id: 'bad-key' }), 'a b')).toMatchObject({
      status: 400,
      body: { code: 'ID_INVALID' },
    });
    expect((await groupOf('bad-key')).code).toBe('GROUP_NOT_FOUND');
  });

  it('more lines than limits.jobsPerUpload are answered 413', async () => {
    const one = '{"processorType":"sum","notBefore":"2126-01-01T00:00:00Z"}\n';
    const answer = await upload(`{"id":"flood"}\n${one.repeat(20_001)}`);
    expect(answer).toMatchObject({ status: 413, body: { code: 'JOBS_TOO_MANY' } });
    expect(await groupOf('flood')).toMatchObject({ sealed: false, progress: { registered: 20_000 } });
    const full = await server.send(`${GROUPS}/flood/jobs`, { body: one.repeat(1_500), headers: NDJSON });
    expect(full).toMatchObject({ status: 429, body: { code: 'QUEUE_FULL', retryable: true } });
    expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await groupOf('flood')).toMatchObject({ progress: { registered: 21_000 } });
  });

  it('a sender that is told of a broken line while it sends 30 MB is told, and may go on', async () => {
    const chunk = Buffer.from(`${JSON.stringify({ processorType: 'sum', payload: 'x'.repeat(65_000) })}\n`);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (sent === 0) controller.enqueue(Buffer.from('{"id":"early"}\n{broken\n'));
        else controller.enqueue(chunk);
        if (++sent > 460) controller.close();
      },
    });
    expect(await upload(body)).toMatchObject({ status: 422, body: { code: 'LINE_INVALID' } });
    expect((await groupOf('early')).progress.registered).toBe(0);
  });

  it('what the engine refuses is answered as it is', async () => {
    await upload(lines({ id: 'sealed' }, ...jobs(1)));
    const body = lines({ id: 'sealed' }, ...jobs(2_000));
    expect(await upload(body)).toMatchObject({ status: 409, body: { code: 'GROUP_SEALED' } });
    const conflict = lines({ id: 'sealed', weight: 2 }, ...jobs(1));
    expect(await upload(conflict)).toMatchObject({ status: 409, body: { code: 'GROUP_CONFLICT' } });
    const add = await server.send(`${GROUPS}/a%20b/jobs`, { body: lines(...jobs(1)), headers: NDJSON });
    expect(add).toMatchObject({ status: 400, body: { code: 'ID_INVALID' } });
  });

  it('a key of a tenant uploads into its own namespace only', async () => {
    const own = (body: string, path = GROUPS) => server.send(path, { body, headers: NDJSON, key: KEYS.acme });
    expect((await own(lines({ id: 'up' }, ...jobs(2)))).body).toMatchObject({ groupId: 'up', added: 2 });
    expect(await groupOf('acme%2Fup')).toMatchObject({ tenant: 'acme', tenantId: 'acme' });
    expect((await own(lines({ id: 'shop/up' }, ...jobs(2)))).status).toBe(404);
    expect((await own(lines({ id: 'up2', tenantId: 'shop' }, ...jobs(2)))).status).toBe(422);
    expect((await own(lines({ id: 'up2', tenant: 'shop' }, ...jobs(2)))).status).toBe(400);
    expect((await own(lines(...jobs(2)), `${GROUPS}/shop%2Fup/jobs`)).status).toBe(404);
    for (const id of ['shop%2Fup', 'acme%2Fup2', 'up2']) expect((await groupOf(id)).status, id).toBe(404);
  });

  it.each(['goes away', 'falls silent'])(
    'a sender that %s in the middle: what came is stored, the group is open',
    async (how) => {
      const id = how.replaceAll(' ', '-');
      const { hostname, port } = new URL(server.url);
      const socket = connect(Number(port), hostname);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => {});
      const part = lines({ id }, ...jobs(1_400), '{"processorType":');
      socket.write(
        `POST ${GROUPS} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${KEYS.admin}\r\n` +
          `content-type: application/x-ndjson\r\ncontent-length: ${part.length + 1_000}\r\n\r\n${part}`,
      );
      if (how === 'goes away') {
        await until(async () => (await groupOf(id)).progress?.registered === 1_250, {
          what: 'all full batches',
        });
        socket.destroy();
      }
      await until(async () => (await groupOf(id)).progress?.registered === 1_400, { what: 'all that came' });
      expect(await groupOf(id)).toMatchObject({ sealed: false });
      await closed;
      expect(server.lines.filter((line) => /unexpectedly|"level":(50|60)/.test(line))).toEqual([]);
    },
  );
});
