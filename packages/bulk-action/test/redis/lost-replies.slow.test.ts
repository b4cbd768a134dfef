import { isDeepStrictEqual } from 'node:util';
import { seededRng, systemClock } from '@millrace/foundation';
import { RedisConnection } from '@millrace/redis';
import { type RedisServer, startRedis, startTcpProxy, type TcpProxy } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkActionService } from '../../src/bulk-action-service.js';
import { BULK_SCRIPTS } from '../../src/redis/scripts.js';
import { expectConservation } from '../store-contract/conservation.js';
import { numbers, type StoreHarness } from '../store-contract/tools.js';
import type { Act, ScriptName } from './act.js';
import { CLOCKED_SCRIPTS, openClocked } from './redis-fixture.js';
import { ACTS, busyStore } from './repeated-acts.js';
import { dumpOf, pictureOf } from './stored-state.js';

let server: RedisServer;
let proxy: TcpProxy;
let admin: RedisConnection;
let direct: RedisConnection;
/** Behind the proxy. */
let frail: RedisConnection;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
  proxy = await startTcpProxy({ targetHost: server.host, targetPort: server.port });
  admin = new RedisConnection({ url: server.url });
  direct = new RedisConnection({ url: server.url });
  frail = new RedisConnection({ url: proxy.url('redis') });
  // A script that Redis does not know is refused, not executed: the reply that is lost would be the refusal.
  for (const { source } of Object.values(CLOCKED_SCRIPTS)) await admin.call('SCRIPT', ['LOAD', source]);
});
afterAll(async () => {
  for (const connection of [admin, direct, frail]) await connection.stop();
  await proxy.close();
  await server.stop();
});

const CONFIG = { backpressure: { globalRps: 0 } };
const newPrefix = () => `lost${++stores}:`;

/** How often scripts were executed so far, whoever asked. */
async function executions(): Promise<number> {
  const stats = String(await admin.call('INFO', ['commandstats']));
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}

interface Seen {
  readonly answer: unknown;
  readonly picture: unknown;
  readonly dump: Record<string, unknown>;
}

const seen = async (harness: StoreHarness, keyPrefix: string, answer: unknown): Promise<Seen> => ({
  answer,
  dump: await dumpOf(admin, keyPrefix),
  picture: await pictureOf(harness),
});

async function prepared(connection: RedisConnection, keyPrefix: string, { before }: Act) {
  const harness = await openClocked(connection, keyPrefix, CONFIG);
  const held = await busyStore(harness);
  await before?.(harness, held);
  return { harness, held };
}

/** The same on a store that loses nothing: what its header promises for the repeat. */
async function undisturbed(use: Act): Promise<Seen> {
  const keyPrefix = newPrefix();
  const { harness, held } = await prepared(direct, keyPrefix, use);
  const before = await dumpOf(admin, keyPrefix);
  const first = await use.act(harness, held);
  const once = await seen(harness, keyPrefix, first);
  // An entry of the table that does nothing would show nothing.
  expect(isDeepStrictEqual(once.dump, before), 'changes nothing').toBe(use.idle === true);
  if (use.again === 'same') return once;
  const second = await use.act(harness, held);
  if (use.again === 'next') return seen(harness, keyPrefix, second);
  expect(second, 'an answer of its own to the repeat').not.toEqual(first);
  return { ...once, answer: second };
}

/** The connection is cut between execution and reply, and asks again by itself. */
async function askedByConnection(name: ScriptName, use: Act): Promise<Seen> {
  const keyPrefix = newPrefix();
  const { harness, held } = await prepared(frail, keyPrefix, use);
  const before = await executions();
  const cut = proxy.cutAfterRequest((chunk) => chunk.includes(CLOCKED_SCRIPTS[name].sha));
  const answer = await use.act(harness, held);
  await cut;
  expect(await executions(), 'executed and repeated').toBe(before + 2);
  const result = await seen(harness, keyPrefix, answer);
  await expectConservation(harness);
  return result;
}

/** The process is gone with the reply, and another one asks again. */
async function askedByCaller(name: ScriptName, use: Act): Promise<Seen> {
  const keyPrefix = newPrefix();
  await using doomed = new RedisConnection({ url: proxy.url('redis') });
  const { harness, held } = await prepared(doomed, keyPrefix, use);
  const before = await executions();
  const cut = proxy.cutAfterRequest((chunk) => chunk.includes(CLOCKED_SCRIPTS[name].sha));
  proxy.refuse(true); // Or the connection would ask again before it is stopped.
  const failed = expect(use.act(harness, held)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  await cut;
  await doomed.stop();
  await failed;
  proxy.refuse(false);
  expect(await executions(), 'executed once').toBe(before + 1);
  const successor = await openClocked(direct, keyPrefix, CONFIG);
  return seen(successor, keyPrefix, await use.act(successor, held));
}

describe('bulk-action BA-15: a reply lost after execution', () => {
  it('the table has every script', () => {
    expect(Object.keys(ACTS).sort()).toEqual(Object.keys(BULK_SCRIPTS).sort());
  });

  const cases = Object.entries(ACTS).flatMap(([name, uses]) =>
    uses.map((use) => [name as ScriptName, use.what, use] as const),
  );

  it.each(cases)('%s: %s', async (name, _what, use) => {
    const expected = await undisturbed(use);
    expect(await askedByConnection(name, use), 'asked again by the connection').toEqual(expected);
    expect(await askedByCaller(name, use), 'asked again by another process').toEqual(expected);
  });

  it('a customer who loses every reply sees no error, and what was done is done once', async () => {
    const { store, config } = await openClocked(frail, newPrefix(), CONFIG);
    const service = new BulkActionService({ store, config, clock: systemClock, rng: seededRng('ids') });
    const jobs = numbers(4).map((n) => ({ id: `j${n}`, processorType: 'work' }));
    const steps: readonly (readonly [ScriptName, () => Promise<unknown>])[] = [
      ['createGroup', () => service.createGroup({ id: 't/g' })],
      ['addJobs', () => service.addJobs('t/g', jobs)],
      ['pauseGroup', () => service.pauseGroup('t/g')],
      ['updateGroup', () => service.updateGroup('t/g', { weight: 2 })],
      ['updateTenant', () => service.updateTenant('t', { rps: 5 })],
      ['pauseGroup', () => service.resumeGroup('t/g')],
      ['sealGroup', () => service.seal('t/g', { total: 4 })],
      ['cancelGroup', () => service.cancelGroup('t/g')],
      ['readGroup', () => service.getProgress('t/g')],
    ];
    for (const [name, call] of steps) {
      const cut = proxy.cutAfterRequest((chunk) => chunk.includes(CLOCKED_SCRIPTS[name].sha));
      await call();
      await cut;
    }
    const ended = { status: 'CANCELLED', registered: 4, cancelled: 4, pending: 0 };
    expect(await service.getProgress('t/g')).toMatchObject(ended);
  });
});
