import { readFileSync } from 'node:fs';
import { compareFolder, loadScripts, type RedisConnection, STANDARD_INCLUDES } from '@millrace/redis';
import { startTcpProxy } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { QUEUE_SCRIPTS } from '../../src/redis/scripts.js';
import type { QueueStore } from '../../src/redis/store.js';
import { failure, redisFixture } from './redis-fixture.js';

leakCheck();

const fixture = redisFixture();
const scripts = loadScripts(QUEUE_SCRIPTS);

/** Everything a queue has in Redis but its client records and markers. */
async function stateOf(connection: RedisConnection, { key }: QueueStore) {
  const taken = (await connection.call('HGETALL', [key('taken')])) as string[];
  return {
    items: await connection.call('LRANGE', [key('items'), 0, -1]),
    takenIds: taken.filter((_, at) => at % 2 === 0).toSorted(),
    leases: await connection.call('ZCARD', [key('leases')]),
    corrupt: await connection.call('LRANGE', [key('corrupt'), 0, -1]),
    closed: await connection.call('HGET', [key('meta'), 'closed']),
  };
}

const entry = (id: string) => ({ id, json: `"${id}"` });
const idsOf = (items: unknown) => (items as string[]).map((text) => JSON.parse(text).id);

describe('the Lua files', () => {
  it('say what their declarations say, both ways', () => {
    expect(compareFolder(new URL('../../lua/', import.meta.url), scripts)).toEqual([]);
  });

  it('with another now nothing else differs', () => {
    const now = 'local function now() return 0 end';
    const shipped = readFileSync(new URL('now.lua', STANDARD_INCLUDES), 'utf8').replace(/^--.*\n/gm, '');
    for (const [name, { source }] of Object.entries(loadScripts(QUEUE_SCRIPTS, { includes: { now } }))) {
      const original = scripts[name as keyof typeof scripts].source;
      expect(source).toBe(original.replace(shipped, () => `${now}\n`));
    }
  });

  it('read no clock but now', () => {
    for (const { source } of Object.values(scripts)) {
      expect(source.match(/'TIME'/g)?.length ?? 0).toBe(source.includes('local function now()') ? 1 : 0);
    }
  });
});

describe('a reply lost after execution', () => {
  type Verb = (store: QueueStore, sequence: number) => Promise<unknown>;
  const put: Verb = (store, sequence) => store.put(sequence, [entry('a'), entry('b')]);
  const take: Verb = (store, sequence) => store.take(sequence, 2);
  const verbs: Record<string, { readonly before: readonly Verb[]; readonly verb: Verb }> = {
    put: { before: [], verb: put },
    take: { before: [put], verb: take },
    confirm: {
      before: [put, take],
      verb: (store) => {
        const verdicts = [
          { id: 'a', verdict: 'k' as const },
          { id: 'b', verdict: 'r' as const },
        ];
        return store.confirm(2, verdicts);
      },
    },
    giveBack: { before: [put], verb: (store, sequence) => store.giveBack(sequence, ['{"id":"z"}']) },
    close: { before: [put], verb: (store) => store.close() },
    size: { before: [put], verb: (store) => store.size() },
  };

  it('is tried with every script', () => {
    expect(Object.keys(verbs)).toEqual(Object.keys(QUEUE_SCRIPTS));
  });

  it.each(Object.keys(verbs))(
    '%s: the repeat gives the same answer, the state is as after one execution',
    async (name) => {
      const { before, verb } = verbs[name] as (typeof verbs)[string];
      const { hostname, port } = new URL(fixture.url);
      await using proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
      const direct = fixture.connect();
      const proxied = fixture.connect({ url: proxy.url('redis') });
      for (const { source } of Object.values(scripts)) await direct.call('SCRIPT', ['LOAD', source]);
      const clientId = 'same';
      const undisturbed = fixture.store(direct, fixture.newName(), { clientId });
      const disturbed = fixture.store(proxied, fixture.newName(), { clientId });
      for (const [at, step] of before.entries()) {
        await step(undisturbed, at + 1);
        await step(disturbed, at + 1);
      }
      const expected = await verb(undisturbed, before.length + 1);
      const { sha } = scripts[name as keyof typeof scripts];
      const lost = proxy.cutAfterRequest((chunk) => chunk.includes(sha));
      const answer = await verb(disturbed, before.length + 1);
      await lost;
      expect(withoutTimes(answer)).toEqual(withoutTimes(expected));
      expect(withoutTimes(await verb(disturbed, before.length + 1))).toEqual(withoutTimes(expected));
      expect(withoutTimes(await stateOf(direct, disturbed))).toEqual(
        withoutTimes(await stateOf(direct, undisturbed)),
      );
      await proxied.stop();
    },
  );

  const withoutTimes = (value: unknown) =>
    JSON.parse((JSON.stringify(value) ?? 'null').replace(/(createdAt\\*":)("[^"]*"|\d+)/g, '$10'));
});

describe('sequence numbers', () => {
  it('a late copy of an older put or take changes nothing', async () => {
    const connection = fixture.connect();
    const store = fixture.store(connection, fixture.newName());
    await store.put(1, [entry('a')]);
    await store.put(2, [entry('b')]);
    expect(await failure(store.put(1, [entry('a')]))).toMatchObject({ code: 'REDIS_SCRIPT_FAILED' });
    await store.take(3, 1);
    await store.confirm(3, [{ id: 'a', verdict: 'k' }]);
    await store.take(4, 1);
    expect(await failure(store.take(3, 1))).toMatchObject({ code: 'REDIS_SCRIPT_FAILED' });
    expect(await store.confirm(3, [{ id: 'a', verdict: 'k' }])).toBe('k');
    expect(await stateOf(connection, store)).toMatchObject({ items: [], takenIds: ['b'], leases: 1 });
  });

  it('full, then room: the same put fits partly and says so', async () => {
    const store = fixture.store(fixture.connect(), fixture.newName(), { maxSize: 2 });
    expect(await store.put(1, ['a', 'b', 'c'].map(entry))).toMatchObject({ kind: 'put', accepted: 2 });
    expect(await store.put(2, [entry('c')])).toEqual({ kind: 'full', size: 2 });
    await store.take(3, 1);
    // What is on its way may come back, so its place is not free.
    expect(await store.put(2, [entry('c')])).toEqual({ kind: 'full', size: 2 });
    await store.confirm(3, [{ id: 'a', verdict: 'k' }]);
    expect(await store.put(2, [entry('c')])).toMatchObject({ kind: 'put', accepted: 1 });
    expect(await store.giveBack(5, ['{"id":"x"}'])).toBe(0);
  });
});

describe('leases', () => {
  async function withTime() {
    const connection = fixture.connect();
    const timeKey = `${fixture.keyPrefix}:test time ${fixture.newName()}`;
    const now = `local function now() return tonumber(redis.call('GET', '${timeKey}')) end`;
    const testScripts = loadScripts(QUEUE_SCRIPTS, { includes: { now } });
    const name = fixture.newName();
    const setTime = (ms: number) => connection.call('SET', [timeKey, ms]);
    await setTime(1_000_000);
    const client = (takeLeaseMs = 5_000) => fixture.store(connection, name, { takeLeaseMs }, testScripts);
    return { connection, setTime, client };
  }

  it('what is not confirmed returns to the head in its order; its old owner has lost it', async () => {
    const { connection, setTime, client } = await withTime();
    const [dead, alive] = [client(), client()];
    // Ids against the alphabet: their order must come from the take.
    await dead.put(1, ['z', 'b', 'y', 'd'].map(entry));
    await dead.take(2, 3);
    await setTime(1_004_999);
    expect(await alive.take(1, 1)).toMatchObject({ entries: [{ id: 'd' }] });
    await alive.confirm(1, [{ id: 'd', verdict: 'r' }]);
    await setTime(1_005_001);
    expect(await alive.take(2, 1)).toMatchObject({ entries: [{ id: 'z' }] });
    expect(idsOf((await stateOf(connection, alive)).items)).toEqual(['b', 'y', 'd']);
    const verdicts = ['z', 'b', 'y'].map((id) => ({ id, verdict: 'k' as const }));
    expect(await dead.confirm(2, verdicts)).toBe('lll');
    expect(await dead.take(2, 3)).toEqual({ kind: 'taken', entries: [] });
    expect(await alive.confirm(2, [{ id: 'z', verdict: 'k' }])).toBe('k');
  });

  it('an empty queue says when something may come back', async () => {
    const { setTime, client } = await withTime();
    const [slow, waiting] = [client(), client()];
    await slow.put(1, [entry('a')]);
    await slow.take(2, 1);
    await setTime(1_002_000);
    const answer = await waiting.take(1, 1);
    expect(answer).toMatchObject({ kind: 'empty', closed: false });
    expect((answer as { nextInMs: number }).nextInMs).toBeGreaterThanOrEqual(3_000);
    expect((answer as { nextInMs: number }).nextInMs).toBeLessThanOrEqual(3_002);
  });

  it('a clock that jumped back freezes nothing: a lease is never longer than the longest in use', async () => {
    const { setTime, client } = await withTime();
    const [gone, waiting] = [client(5_000), client(100)];
    await gone.put(1, [entry('a')]);
    await gone.take(2, 1);
    await setTime(10_000);
    expect(await waiting.take(1, 1)).toMatchObject({ kind: 'empty', nextInMs: 5_000 });
    await setTime(15_001);
    expect(await waiting.take(1, 1)).toMatchObject({ kind: 'taken', entries: [{ id: 'a' }] });
  });

  it('at most 100 are brought back per call', async () => {
    const { connection, setTime, client } = await withTime();
    const [dead, alive] = [client(), client()];
    for (let batch = 0; batch < 3; batch++) {
      await dead.put(
        2 * batch + 1,
        Array.from({ length: 80 }, (_, n) => entry(`${batch}-${n}`)),
      );
      await dead.take(2 * batch + 2, 80);
    }
    await setTime(2_000_000);
    await alive.take(1, 1);
    expect((await stateOf(connection, alive)).leases).toBe(240 - 100 + 1);
  });
});

describe('layout', () => {
  it('a newer one is refused by every script that decides, and nothing is written', async () => {
    const connection = fixture.connect();
    const store = fixture.store(connection, fixture.newName());
    await store.put(1, [entry('a')]);
    await connection.call('HSET', [store.key('meta'), 'layout', 2]);
    const before = await stateOf(connection, store);
    for (const call of [
      () => store.put(2, [entry('b')]),
      () => store.take(3, 1),
      () => store.close(),
      () => store.size(),
    ]) {
      expect(await failure(call())).toMatchObject({
        code: 'REDIS_LAYOUT_NEWER',
        details: { found: 2, known: 1 },
      });
    }
    expect(await stateOf(connection, store)).toEqual(before);
  });
});
