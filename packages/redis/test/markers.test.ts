import { redisSandbox, startRedis, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keySpace, RedisConnection } from '../src/index.js';

leakCheck();

let sandbox: Awaited<ReturnType<typeof redisSandbox>>;
let connection: RedisConnection;
let key = keySpace('unset');
let uses = 0;

beforeAll(async () => {
  sandbox = await redisSandbox();
  connection = connect(sandbox.namespace);
});
afterAll(async () => {
  await connection.stop();
  await sandbox[Symbol.asyncDispose]();
});
beforeEach(() => {
  key = keySpace(sandbox.namespace, `markers ${++uses}`);
});

const push = (list: string) => connection.call('LPUSH', [list, '1']);
/** Neither its poll nor the end of a blocking call can wake a waiter, only a marker or an interrupt. */
const connect = (connectionName: string) =>
  new RedisConnection({ url: sandbox.url, pollMs: 30_000, blockMs: 60_000, connectionName });
const isBlocked = (connectionName: string) => {
  const call = new RegExp(`name=${connectionName}:markers .*cmd=blpop`);
  return until(async () => call.test(String(await connection.call('CLIENT', ['LIST']))), {
    what: 'a blocking call',
  });
};

describe('Markers', () => {
  it('takes a marker that is already there', async () => {
    await push(key('m'));
    expect(await connection.markers.wait(key('m'))).toBe('woken');
    expect(await connection.markers.wait(key('m'), { timeoutMs: 20 })).toBe('timeout');
  });

  it('wakes one waiter per marker, the oldest first', async () => {
    const woken: number[] = [];
    const waits = [1, 2, 3].map(async (n) => {
      expect(await connection.markers.wait(key('m'))).toBe('woken');
      woken.push(n);
    });
    for (const count of [1, 2, 3]) {
      await push(key('m'));
      await until(() => woken.length === count, { what: `${count} woken` });
    }
    await Promise.all(waits);
    expect(woken).toEqual([1, 2, 3]);
  });

  it('adds a new key to the blocking call in progress', async () => {
    const first = connection.markers.wait(key('first'));
    await isBlocked(sandbox.namespace);
    const later = Array.from({ length: 50 }, (_, n) => connection.markers.wait(key('later', `${n}`)));
    for (let n = 0; n < 50; n++) await push(key('later', `${n}`));
    expect(new Set(await Promise.all(later))).toEqual(new Set(['woken']));
    await push(key('first'));
    expect(await first).toBe('woken');
  });

  it('serves a quiet key beside a busy one', async () => {
    for (let n = 0; n < 20; n++) await push(key('busy'));
    await push(key('quiet'));
    let busy = 0;
    const busyWaits = Array.from({ length: 20 }, () =>
      connection.markers.wait(key('busy')).then(() => busy++),
    );
    expect(await connection.markers.wait(key('quiet'))).toBe('woken');
    expect(busy).toBeLessThan(5);
    await Promise.all(busyWaits);
  });

  it('ends a wait on abort, and passes its marker to another process', async () => {
    const connectionName = `${sandbox.namespace}abort`;
    await using own = connect(connectionName);
    const controller = new AbortController();
    const left = own.markers.wait(key('m'), { signal: controller.signal });
    const stays = own.markers.wait(key('other'));
    await isBlocked(connectionName);
    controller.abort();
    expect(await left).toBe('aborted');
    expect(await own.markers.wait(key('m'), { signal: controller.signal })).toBe('aborted');
    await push(key('m'));
    expect(await connection.markers.wait(key('m'))).toBe('woken');
    await push(key('other'));
    expect(await stays).toBe('woken');
  });

  it('does not crash a Redis that has paused writes', async () => {
    await using server = await startRedis();
    await using admin = new RedisConnection({ url: server.url });
    await using paused = new RedisConnection({ url: server.url, pollMs: 30_000 });
    const isHeldBack = (command: string) =>
      until(async () => String(await admin.call('CLIENT', ['LIST'])).includes(`cmd=${command} `), {
        what: `${command} to be held back`,
      });
    await paused.start();
    await admin.call('CLIENT', ['PAUSE', '10000', 'WRITE']);
    const first = paused.markers.wait('{a}:first');
    await isHeldBack('blpop');
    const second = paused.markers.wait('{a}:second');
    await isHeldBack('eval');
    await admin.call('CLIENT', ['UNPAUSE']);
    for (const list of ['{a}:first', '{a}:second']) await paused.call('LPUSH', [list, '1']);
    expect(await Promise.all([first, second])).toEqual(['woken', 'woken']);
    // Redis has not crashed.
    expect(await admin.call('PING')).toBe('PONG');
  });

  it('leaves no key without expiry, even for a list without a hash tag', async () => {
    await using server = await startRedis();
    await using other = new RedisConnection({ url: server.url, pollMs: 30_000 });
    const waits = ['plain', 'other', 'third'].map((list) => other.markers.wait(list));
    for (const list of ['plain', 'other', 'third']) await other.call('LPUSH', [list, '1']);
    await Promise.all(waits);
    const left = (await other.call('KEYS', ['*'])) as string[];
    for (const name of left) {
      expect(name).toMatch(/^\{plain\}:again:\w+$/);
      expect(await other.call('PTTL', [name])).toBeGreaterThan(0);
    }
  });

  it('ends a wait after pollMs without a marker', async () => {
    await using impatient = new RedisConnection({ url: sandbox.url, pollMs: 20 });
    expect(await impatient.markers.wait(key('m'))).toBe('timeout');
  });
});
