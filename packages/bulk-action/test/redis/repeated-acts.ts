import type { BulkShard } from '../../src/shard-port.js';
import { result } from '../store-contract/aggregating.js';
import { refused } from '../store-contract/slowing.js';
import {
  deadly,
  failure,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobs,
  retry,
  type StoreHarness,
  settle,
  succeed,
  success,
} from '../store-contract/tools.js';
import type { Act, Held, ScriptName } from './act.js';
import { START_MS } from './redis-fixture.js';
import { AGGREGATION_ACTS } from './repeated-aggregations.js';

const RANDOMS = [0.5, 0.25, 0.75, 0.125];
const LATER_MS = 60_000;

/** Something in every place: lane, ready, non-ready, in flight, dead letters; ended, paused and limited groups. */
export async function busyStore(harness: StoreHarness): Promise<Held> {
  const { store } = harness;
  const instance = new Instance(harness, 'one', 40);
  await fill(harness, group('t/dead'), 3);
  await store.groups.seal('t/dead');
  for (const [n, lease] of (await instance.exactly(3)).entries()) {
    await settle(harness, deadly(lease, `work BROKEN ${n % 2}`));
  }
  await fill(harness, group('u/done'), 1);
  await store.groups.seal('u/done');
  await succeed(harness, await instance.exactly(1));
  await fill(harness, group('t/work', { weight: 2 }), 9);
  const [due, second, ...held] = await instance.exactly(5);
  await settle(harness, retry(due, { delayMs: 1000 }));
  await settle(harness, retry(second, { delayMs: 1000 }));
  await harness.advance(1001);
  await instance.fetch(2);
  await fill(harness, group('u/slow', { rps: 1, burst: 1, concurrency: 2 }), 3);
  await fill(harness, group('u/still'), 2);
  await store.groups.pause('u/still');
  await fill(harness, group('/later'), [job('j0', { notBefore: (await harness.now()) + LATER_MS })]);
  await store.once.begin('invoice', 'mine', LATER_MS);
  return held;
}

const reserve = ({ store }: StoreHarness, max: number) =>
  store.leases.reserve({ instanceId: 'two', seq: 7, max });

/** Until the leases have expired. */
const loseLeases = ({ advance, config }: StoreHarness) => advance(config.reliableQueue.ackTimeoutMs + 1);

const look = (act: Act['act'], what = 'look'): Act => ({ what, again: 'same', idle: true, act });

const letterFilter = { key: 't/dead' };

const CHANGES_OF_GROUPS = {
  createGroup: [{ what: 'create', again: 'told', act: ({ store }) => store.groups.create(group('t/new')) }],
  addJobs: [
    { what: 'add', again: 'told', act: ({ store }) => store.groups.add(group('t/work'), jobs(12), 12) },
    {
      what: 'add to a new group',
      again: 'told',
      act: ({ store }) => store.groups.add(group('t/new'), jobs(3), 3),
    },
  ],
  sealGroup: [
    { what: 'seal', again: 'told', act: ({ store }) => store.groups.seal('t/work') },
    {
      what: 'seal an empty group, which ends it',
      again: 'told',
      before: ({ store }) => store.groups.create(group('t/new')),
      act: ({ store }) => store.groups.seal('t/new'),
    },
    {
      what: 'seal with a wrong total',
      again: 'same',
      idle: true,
      act: ({ store }) => store.groups.seal('t/work', 1),
    },
  ],
  cancelGroup: [{ what: 'cancel', again: 'told', act: ({ store }) => store.groups.cancel('t/work') }],
  pauseGroup: [
    { what: 'pause', again: 'told', act: ({ store }) => store.groups.pause('t/work') },
    { what: 'resume', again: 'told', act: ({ store }) => store.groups.resume('u/still') },
  ],
  forgetSlowness: [
    {
      what: 'forget slowness',
      again: 'told',
      before: (harness, [lease]) => settle(harness, refused(lease)),
      act: ({ store }) => store.groups.forgetSlowness('t/work'),
    },
  ],
  updateGroup: [
    {
      what: 'update',
      again: 'same',
      act: ({ store }) => store.groups.update('t/work', { weight: 3, rps: 5, concurrency: 9, timeoutMs: 77 }),
    },
  ],
  updateTenant: [
    {
      what: 'update',
      again: 'same',
      act: ({ store }) => store.groups.updateTenant('t', { weight: 3, rps: 5, burst: 2 }),
    },
    { what: 'make', again: 'same', act: ({ store }) => store.groups.updateTenant('v', { concurrency: 2 }) },
  ],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;

const MOVES = {
  fetch: [
    { what: 'fetch all', again: 'told', act: ({ store }) => store.gate.fetch(100) },
    { what: 'fetch one of several', again: 'next', act: ({ store }) => store.gate.fetch(1) },
  ],
  dispatch: [
    { what: 'dispatch all', again: 'told', act: ({ store }) => store.gate.dispatch(100) },
    { what: 'dispatch one of several', again: 'next', act: ({ store }) => store.gate.dispatch(1) },
  ],
  admit: [
    {
      what: 'admit in its turn',
      again: 'same',
      before: ({ store }) => store.groups.pause('u/slow'),
      act: ({ store }) => store.gate.admit('t/work', 'j7'),
    },
    {
      what: 'admit before its turn',
      again: 'same',
      idle: true,
      act: ({ store }) => store.gate.admit('t/work', 'j7'),
    },
    { what: 'admit one that is due', again: 'same', act: ({ store }) => store.gate.admit('t/work', 'j0') },
  ],
  checkRate: [look(({ store }) => store.gate.checkRate('u/slow', 1))],
  sweep: [
    {
      what: 'sweep all',
      again: 'told',
      before: ({ store }) => store.groups.cancel('t/work'),
      act: ({ store }) => store.upkeep.sweep(1000),
    },
    {
      what: 'sweep a part',
      again: 'next',
      before: ({ store }) => store.groups.cancel('t/work'),
      act: ({ store }) => store.upkeep.sweep(2),
    },
  ],
  watch: [
    {
      what: 'end all that are overdue',
      again: 'told',
      before: ({ advance }) => advance(HOUR_MS),
      act: ({ store }) => store.watch.look(100),
    },
    {
      what: 'end one of several',
      again: 'next',
      before: ({ advance }) => advance(HOUR_MS),
      act: ({ store }) => store.watch.look(1),
    },
    look(({ store }) => store.watch.look(100), 'look when nothing is due'),
  ],
  reconcile: [look(({ store }) => store.watch.reconcile(100))],
  redrive: [
    { what: 'redrive all', again: 'told', act: ({ store }) => store.deadLetters.redrive(letterFilter, 100) },
    {
      what: 'redrive one of several',
      again: 'next',
      act: ({ store }) => store.deadLetters.redrive(letterFilter, 1),
    },
    { what: 'purge all', again: 'told', act: ({ store }) => store.deadLetters.purge(letterFilter, 100) },
    {
      what: 'purge one of several',
      again: 'next',
      act: ({ store }) => store.deadLetters.purge(letterFilter, 1),
    },
  ],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;

const LEASES = {
  reserve: [
    { what: 'reserve some', again: 'same', act: (harness) => reserve(harness, 1) },
    { what: 'reserve all', again: 'same', act: (harness) => reserve(harness, 50) },
    { what: 'reserve nothing', again: 'same', act: (harness) => reserve(harness, 0) },
  ],
  renew: [
    {
      what: 'renew',
      again: 'same',
      before: (harness) => harness.advance(500),
      act: ({ store }, held) => store.leases.renew(held),
    },
  ],
  settle: [
    {
      what: 'success',
      again: 'same',
      act: ({ store }, held) => store.leases.settle(held.map((one) => success(one))),
    },
    {
      what: 'success with a result',
      again: 'same',
      act: ({ store }, held) =>
        store.leases.settle(held.map((one) => result(one, '{"n":1}', { numbers: { n: 1 } }))),
    },
    { what: 'retry', again: 'same', act: ({ store }, [a]) => store.leases.settle([retry(a)]) },
    {
      what: 'throttled',
      again: 'same',
      act: ({ store }, [a]) =>
        store.leases.settle([retry(a, { reason: 'API_THROTTLED', spendsRetry: false })]),
    },
    { what: 'failure', again: 'same', act: ({ store }, [, b]) => store.leases.settle([failure(b)]) },
    { what: 'dead letter', again: 'same', act: ({ store }, [, , c]) => store.leases.settle([deadly(c)]) },
    {
      what: 'of a cancelled round',
      again: 'same',
      before: ({ store }) => store.groups.cancel('t/work'),
      act: ({ store }, [a, b]) => store.leases.settle([success(a), retry(b)]),
    },
  ],
  giveBack: [{ what: 'give back', again: 'told', act: ({ store }, [a, b]) => store.leases.giveBack([a, b]) }],
  giveBackAll: [
    { what: 'give all back', again: 'told', act: ({ store }) => store.leases.giveBackAll('one', 100) },
    {
      what: 'give one of several back',
      again: 'next',
      act: ({ store }) => store.leases.giveBackAll('one', 1),
    },
  ],
  recover: [
    {
      what: 'recover all',
      again: 'told',
      before: loseLeases,
      act: ({ store }) => store.leases.recover(RANDOMS),
    },
    {
      what: 'recover one of several',
      again: 'next',
      before: loseLeases,
      act: ({ store }) => store.leases.recover([0.5]),
    },
  ],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;

const PRESENCE = {
  open: [{ what: 'open', again: 'same', idle: true, act: ({ store }) => store.start() }],
  heartbeat: [
    { what: 'heartbeat', again: 'same', act: (harness) => new Instance(harness, 'three', 5).beat() },
  ],
  leave: [{ what: 'leave', again: 'same', act: ({ store }) => store.instances.leave('one') }],
  once: [
    { what: 'begin', again: 'same', act: ({ store }) => store.once.begin('parcel', 'mine', 5000) },
    {
      what: 'begin what another does',
      again: 'same',
      idle: true,
      act: ({ store }) => store.once.begin('invoice', 'yours', 5000),
    },
    { what: 'renew', again: 'same', act: ({ store }) => store.once.renew('invoice', 'mine', 9000) },
    {
      what: 'finish',
      again: 'same',
      act: ({ store }) => store.once.finish('invoice', 'mine', '"paid"', 9000),
    },
    { what: 'release', again: 'same', act: ({ store }) => store.once.release('invoice', 'mine') },
  ],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;

const LOOKS = {
  listLetters: [look(({ store }) => store.deadLetters.list({}, 2))],
  listSignatures: [look(({ store }) => store.deadLetters.signatures({}, 9))],
  listInstances: [look(({ store }) => store.instances.list())],
  readGroup: [look(({ store }) => store.views.group('t/work'))],
  readResult: [look(({ store }) => store.views.result('t/dead'))],
  readJob: [look(({ store }) => store.views.job('t/work', 'j0'))],
  listGroups: [look(({ store }) => store.views.groups({}, 2))],
  listActiveGroups: [look(({ store }) => store.views.activeGroups(2))],
  listJobs: [look(({ store }) => store.views.jobs('t/work', {}, 3))],
  readTenants: [
    look(({ store }) => store.views.tenant('t'), 'one'),
    look(({ store }) => store.views.fairness(9), 'all'),
  ],
  readQueues: [look(({ store }) => store.views.queues())],
  readResources: [look(({ store }) => store.views.resources())],
  readSlowness: [look(({ store }) => store.views.slowness('t/work'))],
  explain: [look(({ store }) => store.views.explain('u/slow', 'j1'))],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;

const AGE_MS = 1000;

/** Ages a claim, so that it is looked at and made anew. */
const claimBefore = async ({ store, advance }: StoreHarness<BulkShard>) => {
  await store.shard.claim('/guest', 2);
  await advance(AGE_MS);
};

/** When `claimBefore` has made it: busyStore lets 1001 ms pass. */
const CLAIM_TIME = START_MS + 1001;

const HOMES = {
  claimHome: [
    { what: 'claim', again: 'same', act: ({ store }) => store.shard.claim('/guest', 2) },
    {
      what: 'claim anew',
      again: 'same',
      before: claimBefore,
      act: ({ store }) => store.shard.claim('/guest', 2),
    },
    {
      what: 'claim what another has claimed',
      again: 'same',
      idle: true,
      before: claimBefore,
      act: ({ store }) => store.shard.claim('/guest', 1),
    },
  ],
  readHome: [
    look(({ store }) => store.shard.locate('t/work'), 'here'),
    { ...look(({ store }) => store.shard.locate('/guest'), 'elsewhere'), before: claimBefore },
  ],
  listHomes: [{ ...look(({ store }) => store.shard.claims(AGE_MS, 9)), before: claimBefore }],
  checkHome: [
    {
      what: 'remove a claim without a group',
      again: 'told',
      before: claimBefore,
      act: ({ store }) => store.shard.check('/guest', CLAIM_TIME, false),
    },
    {
      what: 'keep a claim',
      again: 'told',
      before: claimBefore,
      act: ({ store }) => store.shard.check('/guest', CLAIM_TIME, true),
    },
  ],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;

/** Every verb of the store with its uses: a new verb without an entry does not compile. */
export const ACTS: Readonly<Record<ScriptName, readonly Act[]>> = {
  ...CHANGES_OF_GROUPS,
  ...MOVES,
  ...LEASES,
  ...AGGREGATION_ACTS,
  ...PRESENCE,
  ...HOMES,
  ...LOOKS,
};
