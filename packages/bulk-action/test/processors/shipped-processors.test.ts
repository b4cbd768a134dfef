import { ManualClock, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineAggregator } from '../../src/aggregator.js';
import { BulkActionEngine } from '../../src/engine.js';
import { HttpRequestProcessor, shippedProcessors } from '../../src/processors/index.js';
import { startWebServer } from './http-server.js';
import { reply, startMailServer } from './smtp-server.js';

/** Short waits, so that retries come within the test. */
const CONFIG = {
  keepResults: true,
  backpressure: { defaultBackoffMs: 10, maxBackoffMs: 20, dispatchIntervalMs: 10 },
  workerPool: { workerCount: 4, fetchIntervalMs: 10, maxRetryCount: 2 },
};

/** Gathers the results of a group. */
const ALL = defineAggregator({
  type: '__default__',
  map: ({ data }) => data,
  reduce: async (results) => {
    const all: unknown[] = [];
    for await (const result of results) all.push(result);
    return all;
  },
});

describe('bulk-action BA-17: the processors that ship, in an engine', () => {
  it('bulk-action BA-17: there are three, made of nothing, and each says what was not delivered', async () => {
    const processors = shippedProcessors({}, { env: {} });
    const types = ['SEND_EMAIL', 'PUSH_NOTIFICATION', 'HTTP_REQUEST'];
    expect(processors.map(({ type }) => type)).toEqual(types);
    await using engine = new BulkActionEngine({ config: CONFIG, processors, aggregators: [ALL] });
    expect(engine.processors.types).toEqual(types);
    await engine.start();
    const { service } = engine;
    await service.submitBulk({ id: 'g' }, [
      { id: 'mail', processorType: 'SEND_EMAIL', payload: { to: 'a@b.c', subject: 's', body: 'b' } },
      {
        id: 'push',
        processorType: 'PUSH_NOTIFICATION',
        payload: { deviceToken: 't', title: 'x', message: 'm' },
      },
      { id: 'call', processorType: 'HTTP_REQUEST', payload: { url: 'http://127.0.0.1/' } },
    ]);
    await until(async () => (await service.getProgress('g')).status === 'COMPLETED', {
      what: 'the group to end',
    });
    expect(await service.getResult('g')).toMatchObject({
      success: 2,
      failed: 1,
      data: {
        SEND_EMAIL: [{ to: 'a@b.c', subject: 's', delivered: false }],
        PUSH_NOTIFICATION: [{ deviceToken: 't', title: 'x', delivered: false }],
      },
    });
    expect(await service.getJob('g', 'call')).toMatchObject({ status: 'FAILED', retryCount: 0 });
    for (const processor of processors) await processor.close();
  });

  it('bulk-action BA-3: a service with limits of its own gets a type, and so a resource, of its own', () => {
    const crm = new HttpRequestProcessor({ type: 'CALL_CRM' }, { env: {} });
    const engine = new BulkActionEngine({ processors: [...shippedProcessors({}, { env: {} }), crm] });
    expect(engine.processors.get('CALL_CRM')).toBe(crm);
    expect(engine.processors.get('HTTP_REQUEST')).not.toBe(crm);
  });

  it('bulk-action BA-8: a mail that was put off is tried again, a refused one is not', async () => {
    const tries = new Map<string, number>();
    await using server = await startMailServer({
      onRcptTo: ({ address }, _session, done) => {
        const before = tries.get(address) ?? 0;
        tries.set(address, before + 1);
        if (address.startsWith('never')) done(reply(550));
        else if (address.startsWith('always-later')) done(reply(451));
        else done(before < 2 ? reply(450) : null);
      },
    });
    const processors = shippedProcessors({ email: { smtpUrl: server.url } }, { env: {} });
    await using engine = new BulkActionEngine({ config: CONFIG, processors });
    await engine.start();
    const { service } = engine;
    const names = ['later', 'never', 'always-later'];
    const jobs = names.map((id) => ({
      id,
      processorType: 'SEND_EMAIL',
      payload: { to: `${id}@example.com`, subject: 's', body: 'b' },
    }));
    await service.submitBulk({ id: 'mails' }, jobs);
    await until(async () => (await service.getProgress('mails')).status === 'COMPLETED', {
      what: 'the group to end',
    });
    expect(Object.fromEntries(tries)).toEqual({
      'later@example.com': 3,
      'never@example.com': 1,
      'always-later@example.com': 3,
    });
    expect(server.received.map(({ to }) => to)).toEqual([['later@example.com']]);
    expect(JSON.stringify(await service.getResult('mails'))).toContain('EMAIL_REFUSED');
    expect((await engine.deadLetters.list()).items.map(({ job }) => job.id)).toEqual(['always-later']);
    for (const processor of processors) await processor.close();
  });

  it('bulk-action BA-3: 429 and 503 spend no retry', async () => {
    let requests = 0;
    await using server = await startWebServer((response) => {
      requests += 1;
      if (requests <= 2) response.writeHead(requests === 1 ? 429 : 503, { 'retry-after': '0' }).end();
      else response.end('at last');
    });
    const processors = shippedProcessors({ http: { allowedAddresses: ['127.0.0.1'] } }, { env: {} });
    await using engine = new BulkActionEngine({
      config: { ...CONFIG, workerPool: { ...CONFIG.workerPool, maxRetryCount: 0 } },
      processors,
    });
    await engine.start();
    const { service } = engine;
    const job = { id: 'call', processorType: 'HTTP_REQUEST', payload: { url: server.origin } };
    await service.submitBulk({ id: 'calls' }, [job]);
    await until(async () => (await service.getProgress('calls')).status === 'COMPLETED', {
      what: 'the call to succeed',
      deadlineMs: 15_000,
    });
    expect(requests).toBe(3);
    expect(await service.getResult('calls')).toMatchObject({ success: 1, failed: 0 });
    expect(await service.getJob('calls', 'call')).toMatchObject({ status: 'COMPLETED', retryCount: 0 });
    for (const processor of processors) await processor.close();
  });

  it('bulk-action BA-3: Retry-After holds the job back and spares the service', async () => {
    await using server = await startWebServer((response) =>
      response.writeHead(429, { 'retry-after': '120' }).end(),
    );
    const clock = new ManualClock();
    const options = { http: { allowedAddresses: ['127.0.0.1'] } };
    const processors = shippedProcessors(options, { env: {}, clock });
    await using engine = new BulkActionEngine({ config: CONFIG, processors, clock });
    await engine.start();
    const { service } = engine;
    const job = (id: string) => ({ id, processorType: 'HTTP_REQUEST', payload: { url: server.origin } });
    await service.addJobs('calls', [job('first')]);
    const reason = async () => {
      await clock.advance(10);
      return (await service.getJob('calls', 'first')).reason === 'API_THROTTLED';
    };
    await until(reason, { what: 'the job to be throttled' });
    const { dueAt = 0 } = await service.getJob('calls', 'first');
    expect(dueAt - clock.now()).toBeGreaterThan(100_000);
    expect((await service.getProgress('calls')).congestion).toMatchObject({
      level: 'CRITICAL',
      nonReadyCount: 1,
    });
    // Another job of the group is not even tried while the service asks to be left alone.
    await service.addJobs('calls', [job('second')]);
    for (let second = 0; second < 60; second++) await clock.advance(1000);
    expect((await service.getJob('calls', 'second')).attempts).toBe(0);
    expect(server.requests).toHaveLength(1);
    for (const processor of processors) await processor.close();
  });
});
