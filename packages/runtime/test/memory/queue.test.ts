import { getEventListeners } from 'node:events';
import { seededRng } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it, vi } from 'vitest';
import { InMemoryQueue } from '../../src/memory/queue.js';
import { queueContract } from '../queue-contract-suite.js';

leakCheck();

queueContract('runtime RT-1: InMemoryQueue', async () => ({
  create: async (config) => new InMemoryQueue(config),
  dispose: async () => {},
}));

function manual<T>(config?: ConstructorParameters<typeof InMemoryQueue>[0]) {
  const clock = new ManualClock();
  return { clock, queue: new InMemoryQueue<T>(config, { clock }) };
}

describe('time', () => {
  it('runtime RT-1: waits exactly as long as asked, by the clock it was given', async () => {
    const { clock, queue } = manual<number>({ maxSize: 1, defaultTimeoutMs: 100 });
    const ends: [string, number][] = [];
    void queue.get().then(() => ends.push(['get', clock.monotonicMs()]));
    void queue.get({ timeoutMs: 40 }).then(() => ends.push(['short get', clock.monotonicMs()]));
    await clock.advance(1000);
    await queue.put(1);
    void queue.put(2).catch(() => ends.push(['put', clock.monotonicMs()]));
    await clock.advance(1000);
    expect(ends).toEqual([
      ['short get', 40],
      ['get', 100],
      ['put', 1100],
    ]);
  });

  it('runtime RT-1: createdAt is when the item was accepted, not when its putter began to wait', async () => {
    const { clock, queue } = manual<number>({ maxSize: 1 });
    await queue.put(1);
    const second = queue.put(2);
    await clock.advance(500);
    await queue.get();
    expect((await second).createdAt.getTime()).toBe(clock.now());
  });

  it('runtime RT-1: a call that has ended leaves neither timer nor listener', async () => {
    const { clock, queue } = manual<number>({ maxSize: 1 });
    const { signal } = new AbortController();
    const leaver = new AbortController();
    const served = queue.get({ signal, timeoutMs: 50 });
    const timed = queue.get({ signal, timeoutMs: 10 });
    const left = queue.get({ signal: leaver.signal, timeoutMs: 50 }).catch(() => 'left');
    await queue.put(1);
    await clock.advance(10);
    leaver.abort();
    expect([(await served)?.payload, await timed, await left]).toEqual([1, null, 'left']);
    const closed = queue.get({ signal, timeoutMs: 50 });
    await queue.close();
    expect(await closed).toBeNull();
    expect(clock.pendingTimers).toBe(0);
    for (const each of [signal, leaver.signal]) expect(getEventListeners(each, 'abort')).toEqual([]);
  });
});

describe('cost', () => {
  it('runtime RT-1: however many wait under one signal, it has one listener', async () => {
    const queue = new InMemoryQueue<number>();
    const controller = new AbortController();
    const add = vi.spyOn(controller.signal, 'addEventListener');
    const gets = Array.from({ length: 50_000 }, () => queue.get({ signal: controller.signal }));
    expect(add).toHaveBeenCalledOnce();
    controller.abort();
    const outcomes = await Promise.allSettled(gets);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('runtime RT-1: 300,000 items at once, in and out in order', async () => {
    const queue = new InMemoryQueue<number>();
    for (let n = 0; n < 300_000; n++) void queue.put(n);
    let inOrder = true;
    for (let n = 0; n < 300_000; n++) inOrder &&= (await queue.get())?.payload === n;
    expect([inOrder, await queue.size()]).toEqual([true, 0]);
  });
});

describe('in this process', () => {
  it('runtime RT-1: a newcomer takes neither the place nor the item that is due to one who waits', async () => {
    const { queue } = manual<string>({ maxSize: 1 });
    await queue.put('first');
    const waiting = queue.put('waited');
    const taken = queue.get();
    expect(await queue.tryPut('newcomer')).toBeNull();
    await Promise.all([taken, waiting]);
    expect((await queue.get())?.payload).toBe('waited');

    const getter = queue.get();
    const put = queue.put('for the getter');
    const newcomer = queue.get({ timeoutMs: 0 });
    expect([(await getter)?.payload, await newcomer]).toEqual(['for the getter', null]);
    await put;
  });

  it('runtime RT-1: ids of two queues differ; with a seed they are the same in every run', async () => {
    const ids = await Promise.all(
      [new InMemoryQueue(), new InMemoryQueue()].map(async (queue) => (await queue.put(1)).id),
    );
    expect(ids[0]).not.toBe(ids[1]);
    const seeded = () => new InMemoryQueue({}, { rng: seededRng(5) }).put(1);
    expect((await seeded()).id).toBe((await seeded()).id);
  });

  it('runtime RT-1: payloads are passed by reference, whatever they are', async () => {
    const queue = new InMemoryQueue<unknown>();
    const payloads = [undefined, () => {}, Symbol('s'), new Map()];
    for (const payload of payloads) await queue.put(payload);
    for (const payload of payloads) expect((await queue.get())?.payload).toBe(payload);
  });

  it('runtime RT-1: await using closes it; errors name it', async () => {
    const queue = new InMemoryQueue<number>({ name: 'orders' });
    {
      await using scoped = queue;
      await scoped.put(1);
    }
    await expect(queue.put(2)).rejects.toThrow('The queue orders is closed');
  });
});
