import { defineProcessor } from '@millrace/bulk-action';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { batch } from '@millrace/orchestrator/batch';
import { defineDag, task } from '@millrace/outbox';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../src/define-app.js';
import { serve, type TestServer } from './serve.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;

type Line = Readonly<Record<string, unknown>>;

const application = defineApp(({ bulk }) => ({
  processors: [
    defineProcessor({
      type: 'step',
      retry: { retries: 0 },
      process: ({ payload }: { payload: { bad: boolean } }, { log }) => {
        log.info({}, 'A job says something');
        if (payload.bad) throw new Error('as the test wants');
      },
    }),
  ],
  dags: [
    defineDag('traced', {
      hand: task({
        mode: 'external',
        run: async ({ batch: { traceparent }, idempotencyKey, log }) => {
          log.info({}, 'A task says something');
          const jobs = [false, true].map((bad) => ({
            id: String(bad),
            processorType: 'step',
            payload: { bad },
          }));
          await bulk.submitBulk({ id: idempotencyKey, traceparent }, jobs);
          return idempotencyKey;
        },
      }),
      fails: task({
        after: ['hand'],
        run: () => {
          throw new NonRetryableError('as the test wants');
        },
      }),
    }),
  ],
  routes: defineRoutes({
    'TRACE.RUN': batch('traced', undefined, { idempotent: true }),
    'TRACE.ECHO': inline((_, { log }) => log.info({}, 'A handler says something')),
  }),
  chat: {
    // biome-ignore lint/correctness/useYield: it fails before it has anything to say.
    async *processEnqueuedTurn() {
      throw new Error('as the test wants');
    },
  },
}));

describe('the trace of a caller', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve({ application });
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const submit = (eventType: string, headers?: Record<string, string>) => {
    const body = { domain: 'TRACE', eventType, bizKey: 'k', timeBudgetMs: 100 };
    return server.send('/api/operations', { body, headers });
  };
  const parsed = (): Line[] => server.lines.map((line) => JSON.parse(line));
  const linesOf = (field: string, id: string) => parsed().filter((line) => line[field] === id);
  const messages = (lines: readonly Line[]) => lines.map(({ msg }) => msg);

  /** Runs the command to the end of everything that it began. */
  async function run(headers?: Record<string, string>) {
    const { opId } = (await submit('RUN', headers)).body;
    const operation = await until(
      async () => {
        const { body } = await server.send(`/api/operations/${opId}/status`);
        return body.state === 'FAILED' && body;
      },
      { what: 'the end of the operation' },
    );
    const batchId: string = operation.backing.ref;
    const started = (await server.send(`/api/batches/${batchId}`)).body.batch;
    const groupId = `${batchId}:hand`;
    const group = await until(
      async () => {
        const { body } = await server.send(`/api/bulk/groups/${encodeURIComponent(groupId)}`);
        return body.status === 'COMPLETED' && body;
      },
      { what: 'the end of the group' },
    );
    await until(() => messages(linesOf('groupId', groupId)).includes('Group ended: COMPLETED'), {
      what: 'the line about the end of the group',
    });
    return { opId, batchId, groupId, stored: [operation, started, group] };
  }

  it('is stored with operation, batch and group, and stands in every line about them', async () => {
    const { opId, batchId, groupId, stored } = await run({ traceparent });
    for (const record of stored) expect(record).toMatchObject({ traceparent });
    const ofOperation = linesOf('opId', opId);
    const ofBatch = linesOf('batchId', batchId);
    const ofGroup = linesOf('groupId', groupId);
    expect(messages(ofOperation)).toContain('Operation accepted');
    expect(messages(ofBatch)).toEqual(
      expect.arrayContaining(['A task says something', 'A task failed for good']),
    );
    expect(messages(ofGroup).filter((message) => message === 'A job says something')).toHaveLength(2);
    expect(messages(ofGroup)).toContainEqual(expect.stringMatching(/^Dead letter/));
    for (const line of [...ofOperation, ...ofBatch, ...ofGroup])
      expect(line.traceId, JSON.stringify(line)).toBe(TRACE);
    expect(ofBatch.find(({ msg }) => msg === 'A task says something')).toMatchObject({ taskKey: 'hand' });
    expect(new Set(ofGroup.map(({ jobId }) => jobId))).toEqual(new Set(['false', 'true', undefined]));
  });

  it('is in no line where there is none', async () => {
    const { opId, batchId, groupId, stored } = await run();
    for (const record of stored) expect(record).toMatchObject({ traceparent: null });
    const lines = [...linesOf('opId', opId), ...linesOf('batchId', batchId), ...linesOf('groupId', groupId)];
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(line).not.toHaveProperty('traceId');
  });

  it('stands in what the handler of a command writes', async () => {
    const { opId } = (await submit('ECHO', { traceparent })).body;
    const line = () => linesOf('opId', opId).find(({ msg }) => msg === 'A handler says something');
    expect(await until(line, { what: 'the line of the handler' })).toMatchObject({ traceId: TRACE });
  });

  it('stands in what is logged about a turn of a chat', async () => {
    const { body } = await server.send('/api/chat/sessions', { body: {}, headers: { traceparent } });
    const { session_id: sessionId } = body;
    const path = `/api/chat/sessions/${sessionId}/queue`;
    const { task_id: taskId } = (await server.send(path, { body: { message: 'hello' } })).body;
    const line = await until(() => linesOf('taskId', taskId)[0], { what: 'the line about the turn' });
    expect(line).toMatchObject({ msg: 'A task failed', sessionId, traceId: TRACE });
  });
});
