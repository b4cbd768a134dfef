import { expect, it } from 'vitest';

import {
  deadly,
  fill,
  group,
  Instance,
  jobs,
  type LeaseTuple,
  listed,
  type OpenStore,
  retry,
  type StoreHarness,
  settle,
  success,
} from './tools.js';

const KEYS = ['t/work', 't/dead', 't/other'];

/** Everything that can be seen, without what moves by itself with the time. */
async function picture({ store }: StoreHarness) {
  const { readyBound: _, startsPerSecond: __, ...queues } = await store.views.queues();
  const groups = await listed((cursor) => store.views.groups({}, 100, cursor));
  const lists = await Promise.all(KEYS.map((key) => store.views.jobs(key, {}, 1000)));
  const letters = await store.deadLetters.list({}, 1000);
  const results = await Promise.all(KEYS.map((key) => store.views.result(key)));
  return {
    queues,
    groups: groups.map(({ settledPerSecond: ___, ...view }) => view),
    jobs: lists.map(({ items }) =>
      items.map(({ id, place, status, retryCount, orphanCount, attempts, reason }) => ({
        id,
        place,
        status,
        retryCount,
        orphanCount,
        attempts,
        reason,
      })),
    ),
    letters: letters.items.map(({ job, signature }) => [job.groupId, job.id, signature]),
    results,
  };
}

type Act = (harness: StoreHarness, leases: LeaseTuple<3>) => Promise<unknown>;

/** Every member that changes something, called with what a caller would send again. */
const ACTS: readonly (readonly [what: string, act: Act])[] = [
  ['create', ({ store }) => store.groups.create(group('t/other'))],
  ['add', ({ store }) => store.groups.add(group('t/other'), jobs(3), 3)],
  ['seal', ({ store }) => store.groups.seal('t/work')],
  ['cancel', ({ store }) => store.groups.cancel('t/work')],
  ['pause', ({ store }) => store.groups.pause('t/work')],
  ['resume', ({ store }) => store.groups.resume('t/work')],
  ['update', ({ store }) => store.groups.update('t/work', { weight: 3, rps: 5, concurrency: 9 })],
  ['updateTenant', ({ store }) => store.groups.updateTenant('t', { weight: 3, rps: 5, burst: 2 })],
  ['fetch', ({ store }) => store.gate.fetch(100)],
  ['dispatch', ({ store }) => store.gate.dispatch(100)],
  ['admit', ({ store }) => store.gate.admit('t/work', 'j4')],
  ['reserve', ({ store }) => store.leases.reserve({ instanceId: 'two', seq: 7, max: 2 })],
  ['renew', ({ store }, leases) => store.leases.renew(leases)],
  ['settle with success', ({ store }, [a]) => store.leases.settle([success(a)])],
  ['settle with a retry', ({ store }, [, b]) => store.leases.settle([retry(b)])],
  ['settle with a dead letter', ({ store }, [, , c]) => store.leases.settle([deadly(c)])],
  ['giveBack', ({ store }, [a, b]) => store.leases.giveBack([a, b])],
  ['giveBackAll', ({ store }) => store.leases.giveBackAll('one', 100)],
  ['recover', ({ store }) => store.leases.recover([0.5, 0.5, 0.5, 0.5])],
  ['sweep', ({ store }) => store.upkeep.sweep(1000)],
  ['redrive', ({ store }) => store.deadLetters.redrive({ key: 't/dead' }, 100)],
  ['purge', ({ store }) => store.deadLetters.purge({ key: 't/dead' }, 100)],
  ['leave', ({ store }) => store.instances.leave('one')],
];

/** A group with a job in every place, another that ended with dead letters. */
async function busyStore(harness: StoreHarness): Promise<LeaseTuple<3>> {
  const instance = new Instance(harness, 'one', 40);
  await fill(harness, group('t/dead'), 2);
  await harness.store.groups.seal('t/dead');
  for (const lease of await instance.exactly(2)) await settle(harness, deadly(lease));
  await fill(harness, group('t/work'), 8);
  const [due, ...leases] = await instance.exactly(4);
  await settle(harness, retry(due, { delayMs: 1000 }));
  await harness.advance(1001);
  await instance.fetch(2);
  return leases;
}

/** The answer to a call was lost, and the caller calls again. */
export function repeating(open: OpenStore): void {
  it.each(ACTS)('%s', async (_, act) => {
    const harness = await open();
    const leases = await busyStore(harness);
    await act(harness, leases);
    const once = await picture(harness);
    await act(harness, leases);
    expect(await picture(harness)).toEqual(once);
    await act(harness, leases);
    expect(await picture(harness)).toEqual(once);
  });
}
