import { latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import type { OperationFilter } from '../../src/model.js';
import type { OpId } from '../../src/op-id.js';
import {
  BACKED,
  CANCELLED,
  FAIL,
  type Home,
  LEASE_MS,
  OK,
  RELEASED,
  RETRY,
  type StoreSuite,
} from './home.js';

async function listed(home: Home, filter: OperationFilter, limit = 100): Promise<readonly OpId[]> {
  const { items, cursor } = await home.store.views.list(filter, limit, undefined);
  expect(cursor).toBeUndefined();
  return items.map(({ opId }) => opId);
}

export const viewsSuite: StoreSuite = (home) => {
  it('orchestrator NFR-4: the newest first, in pages', async () => {
    const ids: OpId[] = [];
    for (let n = 0; n < 5; n++) ids.push((await home().pending()).opId);
    const { views } = home().store;
    const first = await views.list({}, 2, undefined);
    const second = await views.list({}, 2, first.cursor);
    const third = await views.list({}, 2, second.cursor);
    expect([first, second, third].map(({ items }) => items.map(({ opId }) => opId))).toEqual([
      [ids[4], ids[3]],
      [ids[2], ids[1]],
      [ids[0]],
    ]);
    expect(third.cursor).toBeUndefined();
    expect((await views.list({}, 5, undefined)).cursor).toBeUndefined();
    expect(first.items[0]).toEqual(await home().get(ids[4] as OpId));
  });

  it('orchestrator NFR-4: a new operation does not move the pages of somebody who reads', async () => {
    for (let n = 0; n < 3; n++) await home().pending();
    const { views } = home().store;
    const whole = await listed(home(), {});
    const first = await views.list({}, 2, undefined);
    await home().pending();
    const rest = await views.list({}, 2, first.cursor);
    expect([...first.items, ...rest.items].map(({ opId }) => opId)).toEqual(whole);
  });

  it('orchestrator NFR-2: a cursor that is none is refused', async () => {
    await expect(home().store.views.list({}, 2, "' OR true")).rejects.toMatchObject({ code: 'ID_INVALID' });
  });

  it('orchestrator NFR-4: every filter, and all of them together', async () => {
    const plain = (await home().pending()).opId;
    const tenant = (await home().pending({ tenant: 'acme' })).opId;
    const domain = (await home().pending({ domain: 'MAIL' })).opId;
    const eventType = (await home().pending({ eventType: 'DROP' })).opId;
    const bizKey = (await home().pending({ bizKey: 'order-2' })).opId;
    const running = (await home().running()).opId;
    const completed = (await home().settled(OK)).opId;
    const dead = (await home().settled(FAIL)).opId;
    const alive = (await home().settled({ ...FAIL, deadLetter: false })).opId;
    const all = [plain, tenant, domain, eventType, bizKey, running, completed, dead, alive].toReversed();
    const without = (id: OpId) => all.filter((one) => one !== id);
    expect(await listed(home(), {})).toEqual(all);
    expect(await listed(home(), { tenant: 'acme' })).toEqual([tenant]);
    expect(await listed(home(), { tenant: '' })).toEqual(without(tenant));
    expect(await listed(home(), { domain: 'MAIL' })).toEqual([domain]);
    expect(await listed(home(), { eventType: 'DROP' })).toEqual([eventType]);
    expect(await listed(home(), { bizKey: 'order-2' })).toEqual([bizKey]);
    expect(await listed(home(), { state: 'PENDING' })).toEqual([bizKey, eventType, domain, tenant, plain]);
    expect(await listed(home(), { state: 'IN_PROGRESS' })).toEqual([running]);
    expect(await listed(home(), { state: 'COMPLETED' })).toEqual([completed]);
    expect(await listed(home(), { state: 'FAILED' })).toEqual([alive, dead]);
    expect(await listed(home(), { deadLetter: true })).toEqual([dead]);
    expect(await listed(home(), { deadLetter: false })).toEqual(all);
    const every = {
      tenant: 'acme',
      domain: 'ORDER',
      eventType: 'PLACE',
      bizKey: 'order-1',
      state: 'PENDING',
    } as const;
    expect(await listed(home(), every)).toEqual([tenant]);
    expect(await listed(home(), { ...every, deadLetter: true })).toEqual([]);
    const { items, cursor } = await home().store.views.list({ state: 'PENDING' }, 2, undefined);
    expect(items.map(({ opId }) => opId)).toEqual([bizKey, eventType]);
    expect((await home().store.views.list({ state: 'PENDING' }, 9, cursor)).items).toHaveLength(3);
  });

  it('orchestrator NFR-4: how many there are, and how long the oldest has been due', async () => {
    const { views } = home().store;
    const none = {
      byState: { PENDING: 0, IN_PROGRESS: 0, COMPLETED: 0, FAILED: 0 },
      deadLetters: 0,
      oldestDueMs: 0,
    };
    expect(await views.counts()).toEqual(none);
    expect(await views.openCounts()).toEqual({ byState: { PENDING: 0, IN_PROGRESS: 0 }, oldestDueMs: 0 });
    await home().pending();
    await home().running();
    await home().settled(RETRY);
    await home().settled(BACKED, { kind: 'bulk' });
    await home().settled(OK);
    await home().settled(FAIL);
    expect(await views.counts()).toEqual({
      byState: { PENDING: 1, IN_PROGRESS: 3, COMPLETED: 1, FAILED: 1 },
      deadLetters: 1,
      oldestDueMs: 0,
    });
    const open = { byState: { PENDING: 1, IN_PROGRESS: 3 }, oldestDueMs: 0 };
    expect(await views.openCounts()).toEqual(open);
    await home().moveTime(750);
    expect((await views.counts()).oldestDueMs).toBe(250);
    expect(await views.openCounts()).toEqual({ ...open, oldestDueMs: 250 });
  });

  it('orchestrator FR-4: whoever ends an operation that somebody watches is told so', async () => {
    const { views, runs, repairs } = home().store;
    const watched = async (wish = {}) => {
      const ref = await home().running(wish);
      expect(await views.watch([ref.opId], 100)).toEqual([await home().get(ref.opId)]);
      return ref;
    };
    expect(await runs.settle(await watched(), OK)).toMatchObject({ kind: 'settled', waited: true });
    expect(await runs.settle(await watched(), RETRY)).toMatchObject({ kind: 'settled', waited: true });
    expect(await repairs.cancel((await watched()).opId, CANCELLED)).toMatchObject({
      kind: 'cancelled',
      waited: true,
    });
    const backed = await watched({ kind: 'bulk' });
    await runs.settle(backed, BACKED);
    expect(await repairs.endBacked(backed.opId, OK)).toMatchObject({ kind: 'settled', waited: true });
    const ahead = await watched({ kind: 'bulk' });
    await runs.settle(ahead, RELEASED);
    await repairs.cancel(ahead.opId, CANCELLED);
    expect(await repairs.finalize(ahead.opId)).toMatchObject({ kind: 'settled', waited: true });
    const lost = await watched({ leaseMs: 1, onLost: 'fail' });
    await home().moveTime(1);
    expect(await repairs.reap(9)).toMatchObject([{ operation: { opId: lost.opId }, waited: true }]);
  });

  it('orchestrator FR-4: a watch ends by itself, and a longer one is not shortened', async () => {
    const [brief, long, none] = [await home().running(), await home().running(), await home().running()];
    const { views, runs } = home().store;
    await views.watch([brief.opId, long.opId], 100);
    await views.watch([long.opId], 500);
    await views.watch([long.opId], 1);
    await home().moveTime(100);
    expect(await runs.settle(brief, OK)).toMatchObject({ waited: false });
    expect(await runs.settle(long, OK)).toMatchObject({ waited: true });
    expect(await runs.settle(none, OK)).toMatchObject({ waited: false });
  });

  it('orchestrator FR-4: either the watcher sees the end or the ender sees the watcher', async () => {
    for (let round = 0; round < 20; round++) {
      const ref = await home().running();
      const [[seen], ended] = await Promise.all([
        home().store.views.watch([ref.opId], LEASE_MS),
        home().store.runs.settle(ref, OK),
      ]);
      expect(ended.kind).toBe('settled');
      expect(seen?.state === 'COMPLETED' || (ended.kind === 'settled' && ended.waited)).toBe(true);
    }
  });

  it('orchestrator FR-4: many are watched at once, each told once, those unknown left out', async () => {
    const refs = [await home().running(), await home().settled(OK), await home().pending()];
    const ids = refs.map(({ opId }) => opId);
    const seen = await home().store.views.watch([...ids.toReversed(), ...ids, home().nextId()], 50);
    expect(seen.map(({ opId }) => opId)).toEqual(ids);
    expect(seen.map(({ state }) => state)).toEqual(['IN_PROGRESS', 'COMPLETED', 'PENDING']);
  });

  it('orchestrator NFR-3: a notice reaches everybody who hears, until they do not', async () => {
    const { notices } = home().store;
    const heard = latch<OpId>('a notice');
    const other = latch<OpId>('the other notice');
    const unhear = notices.hear(heard.open);
    const unhearOther = notices.hear(other.open);
    const opId = home().nextId();
    notices.tell(opId);
    expect(await heard.wait(15_000)).toBe(opId);
    expect(await other.wait(15_000)).toBe(opId);
    unhear();
    unhearOther();
  });
};
