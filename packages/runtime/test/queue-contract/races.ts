import { setImmediate as nextTurn } from 'node:timers/promises';
import { seededRng } from '@millrace/foundation';
import { expect, it } from 'vitest';
import { type Create, drain, impatiently, numbers } from './tools.js';

/** Many callers at once, in seeded disorder: every accepted item is delivered exactly once. */
export function racing(create: Create): void {
  it.each([1, 2, 3])('no wake-up is lost between many getters and putters (seed %i)', async (seed) => {
    const rng = seededRng(seed);
    const queue = await create<string>({ maxSize: rng.integer(1, 4) });
    const received: string[] = [];
    const consumers = numbers(7).map(async () => {
      for (let item = await queue.get(); item; item = await queue.get()) {
        received.push(item.payload);
        if (rng.chance(0.3)) await nextTurn();
      }
    });
    const producers = numbers(6).map(async (producer) => {
      for (let n = 0; n < 30; n++) {
        await queue.put(`${producer}:${n}`);
        if (rng.chance(0.3)) await nextTurn();
      }
    });
    await Promise.all(producers);
    await queue.close();
    await Promise.all(consumers);
    const sent = numbers(6).flatMap((producer) => numbers(30).map((n) => `${producer}:${n}`));
    expect(received.toSorted()).toEqual(sent.toSorted());
  });

  it('one consumer sees the items of each producer in order', async () => {
    const queue = await create<{ producer: number; n: number }>({ maxSize: 3 });
    const producers = numbers(5).map(async (producer) => {
      for (const n of numbers(30)) await queue.put({ producer, n });
    });
    const seen: number[][] = numbers(5).map(() => []);
    const consumer = (async () => {
      for await (const { payload } of queue) seen[payload.producer]?.push(payload.n);
    })();
    await Promise.all(producers);
    await queue.close();
    await consumer;
    expect(seen).toEqual(numbers(5).map(() => numbers(30)));
  });

  it.each([11, 12, 13])(
    'impatient callers: what was accepted is delivered exactly once, nothing else (seed %i)',
    async (seed) => {
      const rng = seededRng(seed);
      const maxSize = rng.integer(1, 3);
      const queue = await create<string>({ maxSize });
      const accepted: string[] = [];
      const received: string[] = [];
      const sizes: number[] = [];
      let producing = true;
      const producers = numbers(5).map(async (producer) => {
        for (const n of numbers(30)) {
          const item = await impatiently(rng, (options) => queue.put(`${producer}:${n}`, options));
          if (item) accepted.push(item.payload);
        }
      });
      const consumers = numbers(5).map(async () => {
        while (producing) {
          const item = await impatiently(rng, (options) => queue.get(options));
          if (item) received.push(item.payload);
          sizes.push(await queue.size());
        }
      });
      await Promise.all(producers);
      producing = false;
      await Promise.all(consumers);
      received.push(...(await drain(queue)));
      expect(received.toSorted()).toEqual(accepted.toSorted());
      expect(Math.max(...sizes)).toBeLessThanOrEqual(maxSize);
    },
  );
}
