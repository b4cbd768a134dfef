import { redisSandbox } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineScript, keySpace, loadScripts, RedisConnection } from '../src/index.js';
import { countCall, FIXTURE_SCRIPTS, FIXTURES, failure, fixtures } from './fixture-scripts.js';

leakCheck();

let sandbox: Awaited<ReturnType<typeof redisSandbox>>;
let connection: RedisConnection;

beforeAll(async () => {
  sandbox = await redisSandbox();
  connection = new RedisConnection({ url: sandbox.url });
});
afterAll(async () => {
  await connection.stop();
  await sandbox[Symbol.asyncDispose]();
});

describe('loadScripts', () => {
  it('rejects a missing file and a missing include by name', () => {
    const missing = defineScript({ ...FIXTURE_SCRIPTS.count, file: new URL('nowhere.lua', FIXTURES) });
    const refusal = (part: string) =>
      expect.objectContaining({ code: 'REDIS_SCRIPT_INVALID', message: expect.stringContaining(part) });
    expect(() => loadScripts({ missing })).toThrow(refusal('nowhere.lua'));
    const includes = { now: '-- include: nothing\n' };
    expect(() => loadScripts(FIXTURE_SCRIPTS, { includes })).toThrow(refusal('no include nothing'));
  });
});

describe('run, pipeline', () => {
  it('return the decoded reply with the time of Redis', async () => {
    const key = keySpace(sandbox.namespace, 'decoded');
    const reply = await fixtures.count.run(connection, {
      keys: { counter: key('counter'), seen: key('seen') },
      args: { operation: 'a', steps: [1, '2', 3] },
    });
    expect(reply.counter).toBe(6);
    expect(Math.abs(reply.now - Date.now())).toBeLessThan(60_000);
    expect(await connection.pipeline([])).toEqual([]);
  });

  it('work after SCRIPT FLUSH, with an outcome of its own for each call of a pipeline', async () => {
    const key = keySpace(sandbox.namespace, 'flushed');
    await connection.run(countCall(key, 'a'));
    await connection.call('SCRIPT', ['FLUSH']);
    expect((await connection.run(countCall(key, 'b'))).counter).toBe(2);
    await connection.call('SCRIPT', ['FLUSH']);
    const refuse = fixtures.refuse.call({ keys: {}, args: {} });
    const outcomes = await connection.pipeline([countCall(key, 'c'), refuse, countCall(key, 'd')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'REDIS_REFUSED' } });
    expect((await connection.run(countCall(key, 'd'))).counter).toBe(4);
  });

  it('fail with REDIS_SCRIPT_FAILED if the script throws', async () => {
    const error = await failure(connection.call('EVAL', ["return redis.call('GET', nil)", 0]));
    expect(error).toMatchObject({ code: 'REDIS_SCRIPT_FAILED', retryable: false, cause: expect.any(Error) });
  });
});
