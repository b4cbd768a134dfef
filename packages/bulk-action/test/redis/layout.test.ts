import { readFileSync } from 'node:fs';
import { loadScripts, RedisConnection } from '@millrace/redis';
import { redisSandbox } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BulkActionEngine, resolveBulkActionConfig } from '../../src/index.js';
import { BULK_SCRIPTS } from '../../src/redis/scripts.js';
import { RedisStore } from '../../src/redis/store.js';
import { dumpOf } from './stored-state.js';

let connection: RedisConnection;
let namespace: string;

beforeAll(async () => {
  const sandbox = await redisSandbox();
  namespace = sandbox.namespace;
  connection = new RedisConnection({ url: sandbox.url });
});
afterAll(() => connection.stop());

const engineAt = async (keyPrefix: string, scripts = loadScripts(BULK_SCRIPTS)) => {
  const config = { workerPool: { enabled: false } };
  const store = new RedisStore(resolveBulkActionConfig(config), { connection, keyPrefix }, scripts);
  const engine = new BulkActionEngine({ config, store });
  await engine.start();
  return engine;
};
const jobs = (...ids: string[]) => ids.map((id) => ({ id, processorType: 'mail', payload: {} }));

describe('layout', () => {
  it('a newer one is refused at the start and by every verb of who runs on, and nothing is written', async () => {
    const keyPrefix = `${namespace}newer:`;
    await using engine = await engineAt(keyPrefix);
    await engine.service.submitBulk({ id: 'a' }, jobs('1'));
    await connection.call('HSET', [`${keyPrefix}{0}:meta`, 'layout', 2]);
    const before = await dumpOf(connection, keyPrefix);
    const newer = { code: 'REDIS_LAYOUT_NEWER', retryable: false, details: { found: 2, known: 1 } };
    await expect(engineAt(keyPrefix)).rejects.toMatchObject(newer);
    await expect(engine.service.submitBulk({ id: 'b' }, jobs('1'))).rejects.toMatchObject(newer);
    await expect(engine.service.getGroup('a')).rejects.toMatchObject(newer);
    const { open, ...verbs } = loadScripts(BULK_SCRIPTS);
    for (const { source, name } of Object.values(verbs)) {
      const call = connection.call('EVAL', [source, 1, `${keyPrefix}{0}:meta`, '{"layout":1}']);
      await expect(call, name).rejects.toMatchObject({ details: { reason: 'LAYOUT 2' } });
    }
    expect(open.source).toContain('layout');
    expect(await dumpOf(connection, keyPrefix)).toEqual(before);
  });

  it('fields that a newer release adds to a group survive what an older one writes', async () => {
    const keyPrefix = `${namespace}added:`;
    const lua = (name: string) =>
      readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8').replaceAll('\r\n', '\n');
    const includes = {
      scopes: lua('scopes').replace("GROUP_SELDOM = {'level'", "GROUP_SELDOM = {'added', 'level'"),
      saving: lua('saving').replace('if g then\n', "if g then\n g.added = (g.added or '') .. '+'\n"),
    };
    await using newer = await engineAt(keyPrefix, loadScripts(BULK_SCRIPTS, { includes }));
    await using older = await engineAt(keyPrefix);
    const addedOf = async () => {
      const record = String(await connection.call('HGET', [`${keyPrefix}{0}:gr`, '/a']));
      return /added.(\++)/.exec(record)?.[1];
    };
    await newer.service.createGroup({ id: 'a', rps: 5 });
    const first = await addedOf();
    expect(first).toMatch(/^\++$/);
    await older.service.addJobs('a', jobs('1', '2'));
    await older.service.updateGroup('a', { rps: null, weight: 3 });
    await older.service.pauseGroup('a');
    expect(await addedOf()).toBe(first);
    await newer.service.addJobs('a', jobs('3'));
    expect(await addedOf()).toBe(`${first}+`);
  });
});
