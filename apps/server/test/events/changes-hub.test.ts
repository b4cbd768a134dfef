import type { GroupEvent } from '@millrace/bulk-action';
import type { ChangesEvent } from '@millrace/contract';
import { silentLogger } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { beforeEach, describe, expect, it } from 'vitest';
import { ChangesHub } from '../../src/events/changes-hub.js';
import type { StoreSeen } from '../../src/fleet/store-gauges.js';
import type { SentEvent } from '../../src/http/send-events.js';

const NOTHING: StoreSeen = { queues: null, backlog: null, openOperations: null };

describe('the hub of changes', () => {
  let clock: ManualClock;
  let hub: ChangesHub;
  let subscribers: Set<(event: GroupEvent) => void>;
  let latest: StoreSeen;
  let looks: number;
  let leaving: AbortController;
  beforeEach(() => {
    clock = new ManualClock();
    subscribers = new Set();
    latest = NOTHING;
    looks = 0;
    leaving = new AbortController();
    const subscribe = (listener: (event: GroupEvent) => void) => {
      subscribers.add(listener);
      return () => void subscribers.delete(listener);
    };
    const gauges = {
      get latest() {
        return latest;
      },
      look: async () => latest,
      lookAtQueues: async () => {
        looks++;
      },
    };
    hub = new ChangesHub({ clock, log: silentLogger }, { subscribe }, gauges);
  });

  const tell = (groupId: string, event: Partial<GroupEvent> = {}) => {
    for (const listener of subscribers)
      listener({ type: 'group.progress', groupId, tenant: '', round: 1, status: 'RUNNING', at: 0, ...event });
  };
  /** A client that has heard `hello`, and the first look at how everything stands. */
  async function client(tenant?: string) {
    const events = hub.listen({ tenant }, leaving.signal);
    const { value } = await events.next();
    const next = async () => ((await events.next()).value as SentEvent).data as ChangesEvent;
    await clock.advance(0);
    if (tenant === undefined && hub.size === 1) await next();
    return { hello: value as SentEvent, next, events };
  }
  const second = () => clock.advance(1_000);

  it('says hello at once, with how everything stands, but not to a tenant', async () => {
    latest = { ...NOTHING, openOperations: 4 };
    const { hello } = await client();
    expect(hello).toMatchObject({ event: 'hello', data: { snapshot: { openOperations: 4, queues: null } } });
    expect((await client('a')).hello.data).toMatchObject({ snapshot: null });
  });

  it('tells of everything that happened in about a second at once', async () => {
    const { next } = await client();
    for (let n = 0; n < 300; n++) tell(`g-${n % 3}`, { status: n < 299 ? 'RUNNING' : 'COMPLETED' });
    tell('g-0', { type: 'job.dead' });
    hub.note({ kind: 'batches', tenant: '', id: '7' });
    await second();
    expect(await next()).toMatchObject({
      groups: [
        { id: 'g-0', status: 'RUNNING' },
        { id: 'g-1', status: 'RUNNING' },
        { id: 'g-2', status: 'COMPLETED' },
      ],
      batches: ['7'],
      operations: [],
      deadLetters: true,
      more: false,
      snapshot: null,
    });
  });

  it('tells a tenant of what is its own, without its name', async () => {
    const a = await client('a');
    tell('a/mine', { tenant: 'a' });
    tell('b/other', { tenant: 'b', type: 'job.dead' });
    hub.note({ kind: 'operations', tenant: 'b', id: 'op-b' });
    hub.note({ kind: 'operations', tenant: 'a', id: 'op-a' });
    latest = { ...NOTHING, openOperations: 5 };
    await second();
    expect(await a.next()).toMatchObject({
      groups: [{ id: 'mine', status: 'RUNNING' }],
      operations: ['op-a'],
      deadLetters: false,
      snapshot: null,
    });
  });

  it('gives one that does not read fewer and larger events, of bounded size', async () => {
    const slow = await client();
    const quick = await client();
    for (let turn = 0; turn < 4; turn++) {
      for (let n = 0; n < 200; n++) tell(`${turn}-${n}`);
      await second();
      expect((await quick.next()).groups).toHaveLength(200);
    }
    const merged = await slow.next();
    expect(merged.groups).toHaveLength(500);
    expect(merged.more).toBe(true);
    tell('after');
    await second();
    expect(await slow.next()).toMatchObject({ groups: [{ id: 'after' }], more: false });
  });

  it('tells how everything stands when it has changed, and is quiet else', async () => {
    const { next } = await client();
    let told = 0;
    const waiting = next().finally(() => told++);
    await second();
    await second();
    expect(told).toBe(0);
    latest = { ...NOTHING, openOperations: 9 };
    await second();
    expect(await waiting).toMatchObject({ groups: [], snapshot: { openOperations: 9 } });
  });

  it('asks nothing of anybody while nobody listens', async () => {
    await second();
    expect([looks, subscribers.size]).toEqual([0, 0]);
    const { events } = await client();
    expect(subscribers.size).toBe(1);
    leaving.abort();
    await events.return();
    expect([hub.size, subscribers.size]).toEqual([0, 0]);
    const before = looks;
    await second();
    await second();
    expect(looks).toBe(before);
  });
});
