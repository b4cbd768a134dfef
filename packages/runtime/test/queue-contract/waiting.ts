import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { type Create, drain, EARLY_MS, numbers, quietTime, SHORT_MS, watch } from './tools.js';

/** What is put is what is got, in order. */
export function puttingAndGetting(create: Create): void {
  it('gives items in the order they were put', async () => {
    const queue = await create<number>();
    for (let n = 0; n < 50; n++) await queue.put(n);
    expect(await queue.size()).toBe(50);
    for (let n = 0; n < 50; n++) expect((await queue.get())?.payload).toBe(n);
    expect(await queue.size()).toBe(0);
  });

  it('put, tryPut and get speak of the same item; ids are unique, createdAt is a Date', async () => {
    const queue = await create<number>();
    const before = Date.now();
    const put = [await queue.put(1), await queue.tryPut(2)];
    const got = [await queue.get(), await queue.get()];
    expect(got).toEqual(put);
    for (const item of got) {
      expect(item?.createdAt).toBeInstanceOf(Date);
      expect(Math.abs((item?.createdAt.getTime() ?? 0) - before)).toBeLessThan(60_000);
    }
    const items = await Promise.all(Array.from({ length: 200 }, (_, n) => queue.put(n)));
    expect(new Set(items.map(({ id }) => id)).size).toBe(200);
    for (const { id } of items) expect(id).toMatch(/^.+$/);
  });

  it('two queues do not share items', async () => {
    const [one, other] = [await create<string>(), await create<string>()];
    await one.put('mine');
    expect(await other.size()).toBe(0);
    expect(await other.get({ timeoutMs: 0 })).toBeNull();
    await other.close();
    expect((await one.get())?.payload).toBe('mine');
  });
}

/** An empty queue: how long `get` waits. */
export function waitingForAnItem(create: Create): void {
  it('get waits for the next put', async () => {
    const queue = await create<string>();
    const got = watch(queue.get());
    await quietTime(create);
    expect(got.settled).toBe(false);
    await queue.put('late');
    expect((await got.promise)?.payload).toBe('late');
    expect(await queue.size()).toBe(0);
  });

  it('get answers null when its time is up, and takes nothing afterwards', async () => {
    const queue = await create<string>();
    const startedAt = performance.now();
    expect(await queue.get({ timeoutMs: SHORT_MS })).toBeNull();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SHORT_MS - EARLY_MS);
    await queue.put('kept');
    expect(await queue.size()).toBe(1);
    expect((await queue.get())?.payload).toBe('kept');
  });

  it('timeoutMs 0 does not wait, and still gives what is there', async () => {
    const queue = await create<string>();
    expect(await queue.get({ timeoutMs: 0 })).toBeNull();
    await queue.put('there');
    expect((await queue.get({ timeoutMs: 0 }))?.payload).toBe('there');
  });

  it('without timeoutMs the default of the queue counts; timeoutMs wins over it, Infinity too', async () => {
    const queue = await create<string>({ maxSize: 1, defaultTimeoutMs: SHORT_MS });
    expect(await queue.get()).toBeNull();
    const patient = watch(queue.get({ timeoutMs: Number.POSITIVE_INFINITY }));
    await quietTime(create, 2 * SHORT_MS);
    expect(patient.settled).toBe(false);
    await queue.put('one');
    expect((await patient.promise)?.payload).toBe('one');
    await queue.put('two');
    await expect(queue.put('three')).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  });
}

/** A full queue: how long `put` waits, and that the bound holds. */
export function beingFull(create: Create): void {
  it('put waits until there is room', async () => {
    const queue = await create<number>({ maxSize: 1 });
    await queue.put(1);
    const put = watch(queue.put(2));
    await quietTime(create);
    expect(put.settled).toBe(false);
    expect(await queue.size()).toBe(1);
    expect((await queue.get())?.payload).toBe(1);
    expect((await put.promise).payload).toBe(2);
    expect((await queue.get())?.payload).toBe(2);
  });

  it('put fails with QUEUE_FULL when its time is up, and inserts nothing afterwards', async () => {
    const queue = await create<number>({ maxSize: 2 });
    await queue.put(1);
    await queue.put(2);
    const startedAt = performance.now();
    const error = await queue.put(3, { timeoutMs: SHORT_MS }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'QUEUE_FULL', retryable: true, status: 429 });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SHORT_MS - EARLY_MS);
    expect(await drain(queue)).toEqual([1, 2]);
  });

  it('timeoutMs 0 fails at once when full, and puts when there is room', async () => {
    const queue = await create<number>({ maxSize: 2 });
    const puts = [1, 2, 3].map((n) => queue.put(n, { timeoutMs: 0 }));
    expect((await puts[0])?.payload).toBe(1);
    await expect(puts[2]).rejects.toMatchObject({ code: 'QUEUE_FULL', details: { size: 2 } });
    expect(await drain(queue)).toEqual([1, 2]);
  });

  it('tryPut answers null at once and inserts nothing', async () => {
    const queue = await create<number>({ maxSize: 1 });
    expect((await queue.tryPut(1))?.payload).toBe(1);
    expect(await queue.tryPut(2)).toBeNull();
    expect(await drain(queue)).toEqual([1]);
    expect((await queue.tryPut(3))?.payload).toBe(3);
  });

  it('maxSize 0 means unbounded', async () => {
    const queue = await create<number>({ maxSize: 0 });
    await Promise.all(Array.from({ length: 500 }, (_, n) => queue.put(n, { timeoutMs: 0 })));
    expect(await queue.size()).toBe(500);
  });

  it('many concurrent putters never exceed the bound', async () => {
    const maxSize = 5;
    const queue = await create<number>({ maxSize });
    const puts = Array.from({ length: 60 }, (_, n) => queue.put(n));
    await until(async () => (await queue.size()) === maxSize, { what: 'the queue to be full' });
    expect(await queue.tryPut(-1)).toBeNull();
    const sizes: number[] = [];
    for (let n = 0; n < puts.length; n++) {
      sizes.push(await queue.size());
      await queue.get();
    }
    await Promise.all(puts);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(maxSize);
    expect(await queue.size()).toBe(0);
  });
}

/** First come, first served. */
export function waitingInTurn(create: Create): void {
  it('waiting getters are served first come, first served', async () => {
    const queue = await create<number>();
    const gets = Array.from({ length: 20 }, () => queue.get());
    for (let n = 0; n < 20; n++) await queue.put(n);
    expect((await Promise.all(gets)).map((item) => item?.payload)).toEqual(numbers(20));
  });

  it('so are waiting putters', async () => {
    const queue = await create<number>({ maxSize: 1 });
    const puts = numbers(20).map((n) => queue.put(n));
    for (let n = 0; n < 20; n++) expect((await queue.get())?.payload).toBe(n);
    await Promise.all(puts);
  });

  it('one that gives up is passed over: the others keep their turn', async () => {
    const queue = await create<number>();
    const leaver = new AbortController();
    const first = queue.get();
    const left = queue.get({ signal: leaver.signal }).catch((error: unknown) => error);
    const late = queue.get({ timeoutMs: SHORT_MS });
    const last = queue.get();
    leaver.abort();
    expect(await left).toMatchObject({ code: 'ABORTED' });
    expect(await late).toBeNull();
    await queue.put(1);
    await queue.put(2);
    expect((await first)?.payload).toBe(1);
    expect((await last)?.payload).toBe(2);
  });
}
