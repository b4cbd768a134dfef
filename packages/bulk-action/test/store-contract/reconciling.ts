import { expect, it } from 'vitest';
import {
  deadly,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobs,
  numbers,
  type OpenStore,
  retry,
  success,
} from './tools.js';

/** `reconcile` where everything is right: it finds nothing to do, wherever jobs are. */
export function reconciling(open: OpenStore): void {
  it('finds nothing to repair in a busy engine, page by page', async () => {
    const harness = await open({}, 'one shard');
    const { store } = harness;
    const instance = new Instance(harness);
    for (const n of numbers(7)) await fill(harness, group(`t/g${n}`), jobs(6, { cost: 1 + (n % 2) }));
    await fill(harness, group('/later'), [job('j', { notBefore: (await harness.now()) + HOUR_MS })]);
    const [a, b, c, d] = await instance.exactly(9);
    await store.leases.settle([success(a), deadly(b), retry(c), retry(d, { delayMs: 0 })]);
    await store.gate.dispatch(10);
    await store.gate.fetch(2);
    await store.groups.pause('t/g1');
    await store.groups.cancel('t/g2');
    await store.deadLetters.redrive({}, 10);
    let looked = 0;
    let cursor: string | undefined;
    let calls = 0;
    do {
      const answer = await store.watch.reconcile(3, cursor);
      expect(answer).toMatchObject({ repaired: 0 });
      expect(answer.looked).toBeLessThanOrEqual(3);
      looked += answer.looked;
      cursor = answer.cursor;
      calls += 1;
    } while (cursor !== undefined);
    expect({ looked, calls }).toEqual({ looked: 8, calls: 3 });
  });

  it('leaves a group with more jobs than it may look at alone', async () => {
    const harness = await open();
    for (const n of numbers(3)) await fill(harness, group('/g'), jobs(500, {}, `${n}-`));
    expect(await harness.store.watch.reconcile(3)).toEqual({ looked: 1, repaired: 0 });
  });
}
