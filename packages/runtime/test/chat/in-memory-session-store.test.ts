import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { charactersOf, InMemoryChatSessionStore } from '../../src/chat/in-memory-session-store.js';
import type { ChatMessage } from '../../src/chat/model.js';

const createdAt = new Date(0);
const session = (id: string, tenant = '') => ({ id, tenant, traceparent: '', createdAt });
const message = (role: 'user' | 'assistant', taskId: string, content = `${role} ${taskId}`): ChatMessage => ({
  role,
  taskId,
  content,
  createdAt,
});
/** A message that counts so many characters. */
const sized = (taskId: string, characters: number): ChatMessage => {
  const empty = message('user', taskId, '');
  return { ...empty, content: 'x'.repeat(characters - charactersOf(empty)) };
};
const contentsOf = (messages: readonly ChatMessage[]) => messages.map(({ content }) => content);
const tasksOf = (messages: readonly ChatMessage[]) => messages.map(({ taskId }) => taskId);

describe('InMemoryChatSessionStore', () => {
  it('drops the session that was quiet longest, and the oldest messages', async () => {
    const store = new InMemoryChatSessionStore({ maxSessions: 2, maxMessages: 3 });
    await store.create(session('a'));
    await store.create(session('b'));
    expect(await store.append(session('a'), message('user', '1'))).toBe(true);
    await store.create(session('c'));
    expect(await store.find(session('b'))).toBeUndefined();
    expect(await store.append(session('b'), message('user', '9'))).toBe(false);
    expect(await store.messages(session('b'))).toEqual([]);
    await store.append(session('a'), message('user', '2'));
    await store.append(session('a'), message('assistant', '1'));
    await store.append(session('a'), message('assistant', '2'));
    expect(contentsOf(await store.messages(session('a')))).toEqual(['assistant 1', 'user 2', 'assistant 2']);
  });

  it('gives copies: what a caller does to a list changes nothing', async () => {
    const store = new InMemoryChatSessionStore();
    await store.create(session('a'));
    await store.append(session('a'), message('user', '1'));
    (await store.messages(session('a'))).pop();
    expect(await store.messages(session('a'))).toHaveLength(1);
  });

  it('I15: a tenant that makes many sessions pushes out its own', async () => {
    const store = new InMemoryChatSessionStore({ maxSessions: 10 });
    for (const id of ['1', '2', '3']) await store.create(session(id, 'small'));
    for (let n = 0; n < 50; n++) await store.create(session(`${n}`, 'flood'));
    const ids = async (tenant: string) => (await store.list({ tenant, limit: 100 })).map(({ id }) => id);
    expect(await ids('small')).toEqual(['3', '2', '1']);
    expect(await ids('flood')).toEqual(['49', '48', '47', '46', '45', '44', '43']);
  });

  it('of tenants that have as much, the session that was quiet longest goes, and never the new one', async () => {
    const store = new InMemoryChatSessionStore({ maxSessions: 2 });
    await store.create(session('s', 'one'));
    await store.create(session('s', 'two'));
    await store.append(session('s', 'one'), message('user', '1'));
    await store.create(session('s', 'three'));
    const left = await Promise.all(['one', 'two', 'three'].map((tenant) => store.find(session('s', tenant))));
    expect(left.map((found) => found?.tenant)).toEqual(['one', undefined, 'three']);
  });

  it('I15: a tenant that writes much pushes out its own: first its quiet sessions, then old messages', async () => {
    const store = new InMemoryChatSessionStore({ charactersMax: 10_000 });
    await store.create(session('s', 'small'));
    await store.append(session('s', 'small'), sized('0', 4_000));
    for (const id of ['quiet', 'loud']) await store.create(session(id, 'large'));
    await store.append(session('quiet', 'large'), sized('1', 3_000));
    await store.append(session('loud', 'large'), sized('2', 3_000));
    expect(await store.messages(session('quiet', 'large'))).toHaveLength(1);
    await store.append(session('loud', 'large'), sized('3', 3_000));
    expect(await store.find(session('quiet', 'large'))).toBeUndefined();
    expect(tasksOf(await store.messages(session('loud', 'large')))).toEqual(['2', '3']);
    await store.append(session('loud', 'large'), sized('4', 3_000));
    expect(tasksOf(await store.messages(session('loud', 'large')))).toEqual(['3', '4']);
    expect(await store.messages(session('s', 'small'))).toHaveLength(1);
    // Too large even alone: the session stays, the message is not kept.
    expect(await store.append(session('loud', 'large'), sized('5', 11_000))).toBe(true);
    expect(await store.messages(session('loud', 'large'))).toEqual([]);
    expect(await store.messages(session('s', 'small'))).toHaveLength(1);
  });

  it('counts what it no longer has no more', async () => {
    const store = new InMemoryChatSessionStore({ maxSessions: 2, maxMessages: 2, charactersMax: 2_000 });
    for (let n = 0; n < 20; n++) {
      await store.create(session(`${n}`));
      for (let times = 0; times < 4; times++) await store.append(session(`${n}`), sized(`${times}`, 500));
      expect(tasksOf(await store.messages(session(`${n}`)))).toEqual(['2', '3']);
      if (n > 0) expect(tasksOf(await store.messages(session(`${n - 1}`)))).toEqual(['2', '3']);
    }
  });
});

const TENANTS = ['a', 'b', 'c', 'd'];
const LIMITS = { maxSessions: 6, charactersMax: 3_000 };

/** What each tenant has: its sessions and how many characters are in them. */
async function holdingsOf(store: InMemoryChatSessionStore) {
  const holdings = new Map<string, { sessions: string[]; characters: number }>();
  for (const tenant of TENANTS) {
    const sessions = (await store.list({ tenant, limit: 1_000 })).map(({ id }) => id);
    const messages = await Promise.all(sessions.map((id) => store.messages(session(id, tenant))));
    const characters = messages.flat().reduce((sum, each) => sum + charactersOf(each), 0);
    holdings.set(tenant, { sessions, characters });
  }
  return holdings;
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

it('I15: under random use of a full store, a tenant below its equal part never loses a session or a message', async () => {
  const seen = { lost: 0, spared: 0, trimmed: 0 };
  const command = fc.record({
    // One of them does most.
    tenant: fc.constantFrom('a', 'a', 'a', 'a', 'b', 'b', 'c', 'd'),
    // And in one session: it may be the only one of its tenant.
    id: fc.constantFrom('0', '0', '0', '0', '0', '1', '2', '3', '4'),
    characters: fc.option(fc.integer({ min: 100, max: 2_000 }), { freq: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 20, maxLength: 60 }), async (commands) => {
      const store = new InMemoryChatSessionStore(LIMITS);
      for (const [n, { tenant, id, characters }] of commands.entries()) {
        const before = await holdingsOf(store);
        const own = before.get(tenant) ?? { sessions: [], characters: 0 };
        const isKnown = own.sessions.includes(id);
        if (characters === null) {
          await store.create(session(id, tenant));
          before.set(tenant, { ...own, sessions: isKnown ? own.sessions : [...own.sessions, id] });
        } else if (await store.append(session(id, tenant), sized(`${n}`, characters))) {
          before.set(tenant, { ...own, characters: own.characters + characters });
        }
        const after = await holdingsOf(store);
        const held = [...after.values()];
        expect(sum(held.map(({ sessions }) => sessions.length))).toBeLessThanOrEqual(LIMITS.maxSessions);
        expect(sum(held.map((each) => each.characters))).toBeLessThanOrEqual(LIMITS.charactersMax);
        if (characters === null || isKnown) expect(after.get(tenant)?.sessions).toContain(id);

        const holders = [...before.values()];
        const sessionPart = LIMITS.maxSessions / holders.filter(({ sessions }) => sessions.length > 0).length;
        const characterPart = LIMITS.charactersMax / holders.filter((each) => each.characters > 0).length;
        for (const [name, had] of before) {
          const has = after.get(name) ?? { sessions: [], characters: 0 };
          if (has.sessions.length < had.sessions.length) seen.lost++;
          else if (has.characters < had.characters) seen.trimmed++;
          if (had.sessions.length > sessionPart || had.characters > characterPart) continue;
          expect(has.sessions.toSorted()).toEqual(had.sessions.toSorted());
          expect(has.characters).toBe(had.characters);
          if (name !== tenant && had.characters > 0) seen.spared++;
        }
      }
    }),
    { seed: 15, numRuns: 100 },
  );
  // A generator that never fills the store proves nothing about it.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
});
