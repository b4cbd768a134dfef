import { readdirSync, readFileSync } from 'node:fs';
import { RedisConnection, STANDARD_INCLUDES } from '@millrace/redis';
import { type RedisServer, recordingLogger, startRedis, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkActionEngine, defineProcessor, resolveBulkActionConfig } from '../../src/index.js';
import { RedisStore } from '../../src/redis/store.js';
import { bulkStoreContract } from '../store-contract-suite.js';
import { openClocked } from './redis-fixture.js';

const DOCUMENT = new URL('../../../../docs/redis-keys.md', import.meta.url);
const LUA = new URL('../../lua/', import.meta.url);
/** What the connection itself sends: scripts, wake-ups, events, the check at the start. */
const SENT = ['eval', 'evalsha', 'blpop', 'lpush', 'subscribe', 'info'];
const SENT_TO_CLIENT = ['client|setname'];

/** The arguments of the line in the document, behind `ACL`. */
function documentedUser(): string[] {
  const [, line] = /^ACL (SETUSER .*)$/m.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
  if (line === undefined) throw new Error('expected a line "ACL SETUSER …" in docs/redis-keys.md');
  return line.split(' ');
}

const user = documentedUser();
let server: RedisServer;
let admin: RedisConnection;
let connection: RedisConnection;
let opened = 0;

beforeAll(async () => {
  server = await startRedis();
  admin = new RedisConnection({ url: server.url });
  await admin.call('ACL', user);
  const [, username = ''] = user;
  const password = user.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
  connection = new RedisConnection({ host: server.host, port: server.port, username, password });
});
afterAll(async () => {
  await connection.stop();
  await admin.stop();
  await server.stop();
});

/** Everything that looks like a command in the scripts and is one. */
async function commandsOfScripts(): Promise<Set<string>> {
  const known = new Set(((await admin.call('COMMAND')) as [string][]).map(([name]) => name));
  const found = new Set<string>();
  for (const folder of [LUA, STANDARD_INCLUDES]) {
    for (const file of readdirSync(folder)) {
      const source = readFileSync(new URL(file, folder), 'utf8');
      for (const [, word = ''] of source.matchAll(/'([A-Z]{2,})'/g)) found.add(word.toLowerCase());
    }
  }
  return new Set([...found].filter((word) => known.has(word)));
}

describe('bulk-action BA-18: a Redis user with the documented rights', () => {
  bulkStoreContract('redis as a user of its own', (config) =>
    openClocked(connection, `bulk-action:${++opened}:`, config),
  );

  it('bulk-action BA-18: the line has what scripts and connection use, and nothing more', async () => {
    const used = new Set([...(await commandsOfScripts()), ...SENT, ...SENT_TO_CLIENT]);
    const allowed = user.filter((rule) => rule.startsWith('+')).map((rule) => rule.slice(1));
    expect(allowed.sort(), 'the line "ACL SETUSER" in docs/redis-keys.md').toEqual([...used].sort());
    expect(user).toContain('-@all');
  });

  it('bulk-action BA-18: an engine works as this user, with the shipped scripts', async () => {
    const { log, lines } = recordingLogger();
    const processors = [defineProcessor({ type: 'work', process: () => 'done' })];
    const store = new RedisStore(resolveBulkActionConfig(), { connection });
    await using engine = new BulkActionEngine({ store, processors, log });
    await engine.start();
    const completed: string[] = [];
    engine.service.subscribe(({ type, groupId }) => {
      if (type === 'group.completed') completed.push(groupId);
    });
    await until(async () => ((await admin.call('PUBSUB', ['CHANNELS'])) as string[]).length > 0, {
      what: 'somebody to listen',
    });
    await engine.service.submitBulk({ id: 'g' }, [{ processorType: 'work' }]);
    await until(() => completed.length > 0, { what: 'the event' });
    expect(await engine.service.getResult('g')).toMatchObject({ success: 1 });
    await engine.stop();
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });

  it.each([
    ['FLUSHALL'],
    ['KEYS', '*'],
    ['CONFIG', 'GET', 'maxmemory'],
    ['SCRIPT', 'FLUSH'],
    ['CLIENT', 'LIST'],
    ['GET', 'another:key'],
    ['SET', 'another:key', '1'],
    ['PUBLISH', 'another:channel', '1'],
    ['EVAL', "return redis.call('GET', 'another:key')", '0'],
    ['EVAL', "return redis.call('RANDOMKEY')", '0'],
  ])('bulk-action BA-18: %s %s is refused', async (command, ...args) => {
    await expect(connection.call(command, args)).rejects.toThrow(/permission|can't/);
  });
});
