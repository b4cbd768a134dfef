import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explanationLines } from '../../src/cli/commands/jobs/explanation.js';
import { defineApp } from '../../src/define-app.js';
import { serve, type TestServer } from '../serve.js';
import { against } from './against.js';
import { echo, fail, HOSTILE, SHOWN } from './sample-work.js';
import { steady } from './steady.js';

const GROUPS = '/api/bulk/groups';

const application = defineApp({
  processors: [echo, fail],
});

let server: TestServer;
const run = against(() => server);
const body = async (path: string) => (await server.send(GROUPS + path)).body;

beforeAll(async () => {
  server = await serve({ application });
  const payload = { text: HOSTILE };
  const jobs = [
    { id: 'good', processorType: 'echo', payload },
    { id: 'bad', processorType: 'fail', payload },
    { id: 'later', processorType: 'echo', payload, cost: 2, notBefore: '2126-01-01T00:00:00Z' },
    { id: 'orphan', processorType: 'unknown' },
  ];
  await server.send(GROUPS, { body: { group: { id: 'g' }, jobs } });
  await until(async () => (await body('/g')).progress.done === 2, { what: 'two jobs' });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('millrace jobs', () => {
  it('lists the jobs of a group by state', async () => {
    const list = await run(['jobs', 'list', 'g', '--state', 'FAILED']);
    expect(list).toMatchObject({ exitCode: 0, err: '' });
    expect(list.out).toMatch(/^bad +fail +FAILED +1 .+refused \\u001b\[2J\\u202e/m);
    expect(list.out.trim().split('\n')).toHaveLength(2);
    const json = await run(['jobs', 'list', 'g', '--state', 'FAILED', '--json']);
    expect(steady(json.out)).toEqual(steady(await body('/g/jobs?state=FAILED')));
    expect(await run(['jobs', 'list', 'g', '--state', 'PROCESSING'])).toMatchObject({
      exitCode: 0,
      out: '',
      err: 'There are no such jobs.\n',
    });
  });

  it('shows a job with its failed tries and what it was given', async () => {
    const { exitCode, out } = await run(['jobs', 'show', 'g', 'bad']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^state +FAILED$/m);
    expect(out).toContain(`payload    {"text":"${SHOWN}"}`);
    expect(out).toMatch(/UTC .* refused \\u001b\[2J\\u202e/m);
    expect(out).not.toContain('\u001b');
    const later = await run(['jobs', 'show', 'g', 'later']);
    expect(later.out).toMatch(/^not before +2126-01-01 00:00:00 UTC$/m);
    const json = await run(['jobs', 'show', 'g', 'bad', '--json']);
    expect(steady(json.out)).toEqual(steady(await body('/g/jobs/bad')));
  });

  it('explains why a job does not run', async () => {
    expect((await run(['jobs', 'explain', 'g', 'good'])).out).toBe(
      'Job good of group g is COMPLETED: it has ended, and will not run again by itself.\n',
    );
    await server.send(`${GROUPS}/g`, { method: 'PATCH', body: { paused: true } });
    const { out } = await run(['jobs', 'explain', 'g', 'orphan']);
    expect(out).toContain('Job orphan of group g is PENDING. Before it runs:\n');
    expect(out).toContain("  NO_PROCESSOR: No live instance has a processor for 'unknown'.\n");
    expect(out).toContain('    To change it: millrace groups resume g\n');
    expect(out).toContain('Nobody can say when it will run.\n');
    const json = await run(['jobs', 'explain', 'g', 'bad', '--json']);
    expect(steady(json.out)).toEqual(steady(await body('/g/jobs/bad/explain')));
  });

  it('tells times in words, and when nothing holds a job back', () => {
    const job = { id: 'j', groupId: 'g', status: 'PENDING' } as never;
    const rest = { job, position: { jobsAhead: 0, groupsAhead: 0, tenantsAhead: 0 } };
    const gates = [{ gate: 'BACK_OFF', opensInMs: 90_000, detail: 'BACKOFF, due in 90000 ms' }];
    expect(explanationLines({ ...rest, gate: 'BACK_OFF', gates, etaMs: 90_000 })).toEqual([
      'Job j of group g is PENDING. Before it runs:',
      '  BACK_OFF: BACKOFF, due in 90000 ms; this changes by itself in 1 min 30 s.',
      'It will run in about 1 min 30 s.',
    ]);
    expect(explanationLines({ ...rest, gate: 'WORKER', gates: [], etaMs: 0 })).toEqual([
      'Job j of group g is PENDING. Nothing holds it back: it starts as soon as a worker takes it.',
    ]);
    expect(explanationLines({ ...rest, gate: 'RUNNING', gates: [], etaMs: 0 })).toEqual([
      'Job j of group g is PENDING: a worker runs it now.',
    ]);
  });

  it('says what there is not, and what is wrong use', async () => {
    expect(await run(['jobs', 'list', 'nobody'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('(GROUP_NOT_FOUND)'),
    });
    for (const verb of ['show', 'explain'])
      expect(await run(['jobs', verb, 'g', 'nobody'])).toMatchObject({
        exitCode: 1,
        out: '',
        err: expect.stringContaining('(JOB_NOT_FOUND)'),
      });
    expect(await run(['jobs', 'list', 'g', '--state', 'ASLEEP'])).toMatchObject({ exitCode: 2 });
    const hostile = await run(['jobs', 'show', 'g', HOSTILE]);
    expect(hostile.exitCode).toBe(2);
    expect(hostile.err).not.toContain('\u001b');
  });
});
