import { readFileSync } from 'node:fs';
import { redisSandbox } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  compareFolder,
  compareHeader,
  defineScript,
  keySpace,
  loadScripts,
  RedisConnection,
  STANDARD_INCLUDES,
} from '../src/index.js';
import { FIXTURE_SCRIPTS, FIXTURES } from './fixture-scripts.js';

leakCheck();

const scripts = loadScripts(FIXTURE_SCRIPTS);
let sandbox: Awaited<ReturnType<typeof redisSandbox>>;
let connection: RedisConnection;
let uses = 0;

beforeAll(async () => {
  sandbox = await redisSandbox();
  connection = new RedisConnection({ url: sandbox.url });
});
afterAll(async () => {
  await connection.stop();
  await sandbox[Symbol.asyncDispose]();
});

function freshKeys() {
  const key = keySpace(sandbox.namespace, `script ${++uses}`);
  return { counter: key('counter'), seen: key('seen') };
}

describe('headers', () => {
  it('fixtures and the standard includes say what their declarations say, both ways', () => {
    expect(compareFolder(FIXTURES, scripts)).toEqual([]);
    expect(compareFolder(STANDARD_INCLUDES, {})).toEqual([]);
  });

  it('every difference is named', () => {
    const { count } = FIXTURE_SCRIPTS;
    const declaration = { ...count, name: 'other', keys: ['counter'], args: [], returns: 'something' };
    expect(compareHeader({ declaration })).toEqual([
      "count.lua: KEYS is declared as 'counter', the Lua file says 'counter seen'",
      "count.lua: ARGV is declared as 'none', the Lua file says 'operation steps...'",
      "count.lua: returns is declared as 'something', the Lua file says '{counter, now}'",
      'count.lua: the file must be called other.lua',
    ]);
  });

  it('a Lua file that nobody declares is named', () => {
    const { count } = scripts;
    expect(compareFolder(FIXTURES, { count })).toEqual([
      'break.lua: no declaration names this file',
      'refuse.lua: no declaration names this file',
    ]);
  });
});

describe('loadScripts', () => {
  it('puts includes in, each once', () => {
    expect(scripts.count.source.match(/local function now\(\)/g)).toHaveLength(1);
    expect(scripts.count.source).toContain('local function mark(list, cap)');
  });

  it('with another now nothing else differs', () => {
    const now = "local function now() return tonumber(redis.call('GET', 'the test time')) end";
    const testScripts = loadScripts(FIXTURE_SCRIPTS, { includes: { now } });
    const shipped = readFileSync(new URL('now.lua', STANDARD_INCLUDES), 'utf8').replace(/^--.*\n/gm, '');
    expect(scripts.count.source.split(shipped)).toHaveLength(2);
    expect(testScripts.count.source).toBe(scripts.count.source.replace(shipped, () => `${now}\n`));
    expect(testScripts.refuse.source).toBe(scripts.refuse.source);
  });

  it('a missing file and a missing include are refused by name', () => {
    const missing = defineScript({ ...FIXTURE_SCRIPTS.count, file: new URL('nowhere.lua', FIXTURES) });
    const refusal = (part: string) =>
      expect.objectContaining({ code: 'REDIS_SCRIPT_INVALID', message: expect.stringContaining(part) });
    expect(() => loadScripts({ missing })).toThrow(refusal('nowhere.lua'));
    const includes = { now: '-- include: nothing\n' };
    expect(() => loadScripts(FIXTURE_SCRIPTS, { includes })).toThrow(refusal('no include nothing'));
  });
});

describe('run', () => {
  it('gives the decoded reply, with the time of Redis', async () => {
    const keys = freshKeys();
    const answer = await scripts.count.run(connection, {
      keys,
      args: { operation: 'a', steps: [1, '2', 3] },
    });
    expect(answer.counter).toBe(6);
    expect(Math.abs(answer.now - Date.now())).toBeLessThan(60_000);
  });

  it('works after SCRIPT FLUSH, alone and in a pipeline', async () => {
    const keys = freshKeys();
    const call = (operation: string) => ({ keys, args: { operation, steps: [1] } });
    await scripts.count.run(connection, call('a'));
    await connection.call('SCRIPT', ['FLUSH']);
    expect((await scripts.count.run(connection, call('b'))).counter).toBe(2);
    await connection.call('SCRIPT', ['FLUSH']);
    const outcomes = await connection.pipeline([
      scripts.count.call(call('c')),
      scripts.refuse.call({ keys: {}, args: {} }),
      scripts.count.call(call('d')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'REDIS_REFUSED' } });
    expect((await scripts.count.run(connection, call('d'))).counter).toBe(4);
  });

  it('what the script breaks on is REDIS_SCRIPT_FAILED, final, with the cause', async () => {
    const error = await scripts.break
      .run(connection, { keys: {}, args: {} })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'REDIS_SCRIPT_FAILED', retryable: false });
    expect((error as Error).cause).toBeInstanceOf(Error);
  });

  it('an empty pipeline answers nothing', async () => {
    expect(await connection.pipeline([])).toEqual([]);
  });
});
