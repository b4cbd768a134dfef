import { RedisConnection } from '@millrace/redis';
import { type RedisSandbox, redisSandbox, until } from '@millrace/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  BulkActionModule,
  BulkActionService,
  FairQueueService,
  InFlightQueueService,
  ReadyQueueService,
  RedisKeyBuilder,
  WorkerPoolService,
} from '../../src/nestjs/index.js';
import { boot, ended, QUIET, recorder, start } from './boot.js';

let sandbox: RedisSandbox;
let admin: RedisConnection;
let prefixes = 0;

beforeAll(async () => {
  sandbox = await redisSandbox();
  admin = new RedisConnection({ url: sandbox.url });
});
afterAll(async () => {
  await admin.stop();
  await sandbox[Symbol.asyncDispose]();
});

const newPrefix = () => `${sandbox.namespace}-${++prefixes}:`;

/** Connections by the name they have given themselves. */
const connectionsOf = async (name: string) =>
  String(await admin.call('CLIENT', ['LIST']))
    .split('\n')
    .filter((line) => line.includes(`name=${name}`)).length;

it.each([
  ['{ url }', () => ({ url: sandbox.url })],
  [
    '{ host, port }',
    () => ({ host: new URL(sandbox.url).hostname, port: Number(new URL(sandbox.url).port) }),
  ],
])(
  'bulk-action BA-17: with redis %s jobs are in Redis, under the keys of RedisKeyBuilder',
  async (_, address) => {
    const Print = recorder('PRINT');
    const keyPrefix = newPrefix();
    const app = await boot({
      imports: [
        BulkActionModule.register({ ...QUIET, redis: { ...address(), keyPrefix } }),
        BulkActionModule.registerProcessors([Print]),
      ],
    });
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'g' }, [{ id: 'j', processorType: 'PRINT', payload: 'hello' }]);
    await ended(service, 'g');
    expect(app.get(Print, { strict: false }).ran).toEqual(['hello']);
    const keys = app.get(RedisKeyBuilder);
    expect(keys.base).toBe(`${keyPrefix}{0}:`);
    expect(await admin.call('HKEYS', [keys.key('jobs', { group: 'g' })])).toEqual(['j']);
  },
);

it('bulk-action BA-17: a client lends its address and stays open; the connections of the module are closed', async () => {
  const client = new Redis(sandbox.url, { protocol: 2 });
  const connectionName = sandbox.namespace;
  const redis = { client, connectionName, keyPrefix: newPrefix() };
  const app = await start({ imports: [BulkActionModule.register({ ...QUIET, redis })] });
  expect(await connectionsOf(connectionName)).toBeGreaterThan(0);
  await app.close();
  await until(async () => (await connectionsOf(connectionName)) === 0, { what: 'its connections to close' });
  expect(client.status).toBe('ready');
  client.disconnect();
});

it('bulk-action BA-17: a producer hands in, and another application runs the jobs', async () => {
  const redis = { url: sandbox.url, keyPrefix: newPrefix() };
  const Print = recorder('PRINT');
  const producer = await boot({
    imports: [BulkActionModule.register({ ...QUIET, redis, workerPool: { enabled: false } })],
  });
  const worker = await boot({
    imports: [BulkActionModule.register({ ...QUIET, redis }), BulkActionModule.registerProcessors([Print])],
  });
  const service = producer.get(BulkActionService);
  await service.submitBulk({ id: 'g' }, [{ processorType: 'PRINT', payload: 'hello' }]);
  await ended(service, 'g');
  expect(worker.get(Print, { strict: false }).ran).toEqual(['hello']);
  expect(producer.get(WorkerPoolService).getPoolStatus().workers).toEqual([]);
});

it('bulk-action BA-17: jobs taken by hand wait, are counted and go back at the end, on Redis too', async () => {
  const redis = { url: sandbox.url, keyPrefix: newPrefix() };
  const options = { ...QUIET, redis, workerPool: { enabled: false } };
  const app = await start({ imports: [BulkActionModule.register(options)] });
  const service = app.get(BulkActionService);
  const jobs = ['a', 'b', 'c'].map((id) => ({ id, processorType: 'HAND', payload: id }));
  const popping = app.get(ReadyQueueService).reliablePop(20, 'worker-1');
  await service.submitBulk({ id: 'g' }, jobs);
  await app.get(ReadyQueueService).push({ groupId: 'g', jobId: 'a' });
  expect(await popping).toMatchObject({ id: 'a', payload: 'a' });
  expect(await app.get(InFlightQueueService).ack('a', 'worker-1')).toBe(false);
  expect((await app.get(FairQueueService).dequeue())?.id).toBe('b');
  expect(await service.getProgress('g')).toMatchObject({ success: 1, inFlight: 1, pending: 1 });
  await app.close();
  const next = await boot({ imports: [BulkActionModule.register(options)] });
  expect(await next.get(BulkActionService).getProgress('g')).toMatchObject({ inFlight: 0, pending: 2 });
});
