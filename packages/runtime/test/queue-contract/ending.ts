import { setImmediate as nextTurn } from 'node:timers/promises';
import { latch } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { type Create, drain, quietTime, SHORT_MS, unlessCancelled, watch } from './tools.js';

/** What `close` does to both sides. */
export function closing(create: Create): void {
  it('put and tryPut fail with QUEUE_CLOSED', async () => {
    const queue = await create<number>();
    expect(queue.closed).toBe(false);
    await queue.close();
    expect(queue.closed).toBe(true);
    await expect(queue.put(1)).rejects.toMatchObject({ code: 'QUEUE_CLOSED', retryable: false });
    await expect(queue.tryPut(1)).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
    expect(await queue.size()).toBe(0);
  });

  it('consumers drain what is there and then get null, at once and always', async () => {
    const queue = await create<number>();
    await queue.put(1);
    await queue.put(2);
    await queue.close();
    expect((await queue.get())?.payload).toBe(1);
    expect((await queue.get())?.payload).toBe(2);
    expect(await queue.get()).toBeNull();
    expect(await queue.get({ timeoutMs: 60_000 })).toBeNull();
  });

  it('blocked getters get null', async () => {
    const queue = await create<number>();
    const gets = Array.from({ length: 5 }, () => queue.get());
    await queue.close();
    expect(await Promise.all(gets)).toEqual([null, null, null, null, null]);
  });

  it('an item that was put before goes to the blocked getter it belongs to', async () => {
    const queue = await create<number>();
    const gets = [queue.get(), queue.get()];
    await queue.put(1);
    await queue.close();
    expect((await Promise.all(gets)).map((item) => item?.payload)).toEqual([1, undefined]);
  });

  it('blocked putters fail with QUEUE_CLOSED and insert nothing', async () => {
    const queue = await create<number>({ maxSize: 1 });
    await queue.put(1);
    const puts = [queue.put(2), queue.put(3)].map((put) => put.catch((error: unknown) => error));
    await queue.close();
    for (const error of await Promise.all(puts)) expect(error).toMatchObject({ code: 'QUEUE_CLOSED' });
    expect((await queue.get())?.payload).toBe(1);
    expect(await queue.get()).toBeNull();
  });

  it('is idempotent', async () => {
    const queue = await create<number>();
    await queue.put(1);
    await Promise.all([queue.close(), queue.close()]);
    await queue.close();
    expect(await drain(queue)).toEqual([1]);
    await queue.close();
    expect(queue.closed).toBe(true);
  });
}

/** `for await` over a queue. */
export function iterating(create: Create): void {
  it('async iteration gives everything and ends after close and drain', async () => {
    const queue = await create<number>({ defaultTimeoutMs: SHORT_MS });
    const seen: number[] = [];
    const third = latch('the third item was seen');
    const reading = (async () => {
      for await (const { payload } of queue) {
        seen.push(payload);
        if (seen.length === 3) third.open();
      }
    })();
    // Longer than the default timeout: a quiet queue must not end the iteration.
    await quietTime(create, 2 * SHORT_MS);
    for (const n of [1, 2, 3]) await queue.put(n);
    await third.wait();
    await queue.put(4);
    await queue.close();
    await reading;
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it('an iteration that is left early takes nothing more', async () => {
    const queue = await create<number>();
    for (const n of [1, 2, 3]) await queue.put(n);
    for await (const { payload } of queue) if (payload === 2) break;
    expect(await drain(queue)).toEqual([3]);
  });
}

/** What a signal does to a call that waits, and to one that has not begun. */
export function cancelling(create: Create): void {
  it('a signal that has aborted before: get takes nothing, put inserts nothing', async () => {
    const queue = await create<number>();
    await queue.put(1);
    const signal = AbortSignal.abort('no more');
    for (const call of [() => queue.get({ signal }), () => queue.put(2, { signal })]) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'AbortError', code: 'ABORTED', cause: 'no more' });
    }
    expect(await drain(queue)).toEqual([1]);
  });

  it('a waiting getter ends with an AbortError and swallows nothing', async () => {
    const queue = await create<number>();
    const controller = new AbortController();
    const got = watch(queue.get({ signal: controller.signal, timeoutMs: 60_000 }));
    await quietTime(create);
    expect(got.settled).toBe(false);
    controller.abort('enough');
    await expect(got.promise).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
    await queue.put(1);
    expect((await queue.get())?.payload).toBe(1);
  });

  it('a waiting putter ends with an AbortError and inserts nothing', async () => {
    const queue = await create<number>({ maxSize: 1 });
    await queue.put(1);
    const controller = new AbortController();
    const put = watch(queue.put(2, { signal: controller.signal, timeoutMs: 60_000 }));
    await quietTime(create);
    expect(put.settled).toBe(false);
    controller.abort('enough');
    await expect(put.promise).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
    expect(await drain(queue)).toEqual([1]);
    expect(await queue.get({ timeoutMs: SHORT_MS })).toBeNull();
  });

  it('an abort in the same turn as the item: it was delivered, or it is still there', async () => {
    for (const turns of [0, 1, 2, 3]) {
      const queue = await create<number>();
      const controller = new AbortController();
      const got = queue.get({ signal: controller.signal }).catch(unlessCancelled);
      const put = queue.put(1);
      for (let n = 0; n < turns; n++) await nextTurn();
      controller.abort();
      await put;
      const item = (await got) ?? (await queue.get({ timeoutMs: 2_000 }));
      expect(item?.payload).toBe(1);
      expect(await queue.size()).toBe(0);
    }
  });

  it('a thousand waiters under one signal all end, and the queue works on', async () => {
    const queue = await create<number>();
    const controller = new AbortController();
    const gets = Array.from({ length: 1000 }, () => queue.get({ signal: controller.signal }));
    const ends = Promise.all(gets.map((get) => get.catch((error: unknown) => error)));
    const unaffected = queue.get();
    controller.abort();
    for (const error of await ends) expect(error).toMatchObject({ code: 'ABORTED' });
    await queue.put(1);
    expect((await unaffected)?.payload).toBe(1);
  });
}
