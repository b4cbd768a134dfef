import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, task } from '../../src/define-dag.js';
import { carries, eventually, type OpenWorld, openWorld } from './world.js';

const CASES = [
  ['first', 'put-in-force'],
  ['second', 'COMMIT'],
] as const;
const dags = CASES.map(([name]) =>
  defineDag(name, {
    a: task({ mode: 'external', run: () => 1 }),
    b: task({ mode: 'external', after: ['a'], run: () => 2 }),
  }),
);

describe('outbox OB-4: a DAG that is applied while the network fails', () => {
  let world: OpenWorld;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.end());

  it.each(CASES)(
    'outbox OB-4: %s, the reply to %s is lost: it is in force or not, and applying it again puts it in force',
    async (name, verb) => {
      const proxy = await world.startProxy();
      const database = world.open({ through: proxy, callTimeoutMs: 2_000 });
      const outbox = await world.startOutbox({ database, dags, poll: false });
      const watcher = await world.startOutbox({ dags });
      const turned = { name, tasks: { b: {}, a: { after: ['b'] } } };
      const cut = proxy.cutAfterRequest(carries(verb, world.schema));
      const first = await outbox.dags.apply(turned).catch((error: unknown) => error);
      await cut;
      // A COMMIT is looked up; what was cut off before it is rolled back.
      const view = await watcher.dags.get(name);
      expect(view.applied).toBe(verb === 'COMMIT');
      if (view.applied) expect(first).toMatchObject({ version: view.version, created: true });
      else expect(first).toMatchObject({ retryable: true });
      const again = await eventually('the network', () => outbox.dags.apply(turned).catch(() => undefined));
      expect(again).toMatchObject({ created: !view.applied });
      const { id, dagVersion } = await watcher.pusher.start(name, 'k');
      expect(dagVersion).toBe(again.version);
      await eventually('the batch', async () => (await watcher.batches.get(id)).status === 'DONE');
      await world.settle();
    },
  );
});
