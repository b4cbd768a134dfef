import type { TenantPatch } from '../../src/model.js';
import type { BulkActionConfig } from '../../src/options.js';
import type { NewJob } from '../../src/ports.js';
import { group, job, jobs, numbers } from '../store-contract/tools.js';
import type { Command } from './commands.js';
import type { World } from './world.js';

/** Commands that no small world comes to: where one step has more to look at than it may. */
export interface Case {
  readonly name: string;
  readonly world: World;
  readonly commands: readonly Command[];
}

const worldOf = (config: BulkActionConfig, keys: readonly string[]): World => ({
  config,
  definitions: [],
  active: 0,
  keys,
  tenantIds: ['a'],
  namespaces: ['a'],
  jobIds: ['j0', 'j1', 'j2'],
  instanceIds: ['one'],
  scale: 1,
  isPlain: false,
});

const add = (key: string, list: readonly NewJob[], fields = {}): Command => ({
  kind: 'add',
  definition: group(key, fields),
  jobs: list,
  incoming: list.length,
});

const alive = (slots: number): Command => ({
  kind: 'heartbeat',
  instance: { id: 'one', startedAt: 1, slots, waiting: slots, processorTypes: ['work'] },
});

const reserve = (seq: number, max: number): Command => ({
  kind: 'reserve',
  instanceId: 'one',
  seq,
  max,
  turns: 0,
});
const fetch = (max: number): Command => ({ kind: 'fetch', max });
const advance = (ms: number): Command => ({ kind: 'advance', ms });

/** All in one namespace, or each with a tenant of its own. */
const manyGroups = (count: number, tenant: string) => numbers(count).map((n) => `${tenant}/g${n}`);

/** The first job of each group is started; after that none has a token for its second. */
const parked = (keys: readonly string[]): readonly Command[] => [
  alive(1000),
  ...keys.map((key) => add(key, jobs(2), { rps: 0.01 })),
  fetch(1000),
  reserve(1, 1000),
  ...numbers(4).map(() => fetch(1)),
  advance(100_000),
  ...numbers(3).map(() => fetch(2)),
  { kind: 'dispatch', max: 5 },
  reserve(2, 10),
];

/** Both groups of a tenant that may start no more for now get jobs: one that is empty, and one that is new. */
const heldBack = (patch: TenantPatch): readonly Command[] => [
  alive(10),
  { kind: 'create', definition: group('a/two') },
  { kind: 'updateTenant', tenantId: 'a', patch },
  add('a/one', jobs(2)),
  fetch(1),
  reserve(1, 1),
  fetch(1),
  add('a/two', jobs(2)),
  { kind: 'tenant', tenantId: 'a' },
  fetch(10),
  add('a/three', jobs(2)),
  { kind: 'tenant', tenantId: 'a' },
  fetch(10),
];

/** What a tenant's limits do to jobs that are handed in. */
export const HELD_BACK: readonly Case[] = [
  { name: 'a tenant whose slots are taken', patch: { concurrency: 1 } },
  { name: 'a tenant that waits for a token', patch: { rps: 0.01, burst: 1 } },
].map(({ name, patch }) => ({
  name,
  world: worldOf({}, ['a/one', 'a/two', 'a/three']),
  commands: heldBack(patch),
}));

/** The cases. */
export const CASES: readonly Case[] = [
  ...HELD_BACK,
  {
    name: 'more ready jobs of a paused group than one reserve looks at',
    world: worldOf({ backpressure: { globalRps: 0 } }, ['a/one', 'a/two']),
    commands: [
      alive(1000),
      add('a/one', jobs(700)),
      fetch(700),
      add('a/two', jobs(3)),
      fetch(3),
      { kind: 'pause', key: 'a/one' },
      ...numbers(4).map((n) => reserve(n + 1, 2)),
      { kind: 'resume', key: 'a/one' },
      fetch(10),
      reserve(9, 10),
    ],
  },
  {
    name: 'more parked groups than one fetch looks at',
    world: worldOf({}, ['a/g0', 'a/g1', 'a/g299']),
    commands: parked(manyGroups(300, 'a')),
  },
  {
    name: 'more parked groups of as many tenants than one fetch looks at',
    world: worldOf({}, ['/g0', '/g1', '/g299']),
    commands: parked(manyGroups(300, '')),
  },
  {
    name: 'more overdue jobs than one fetch looks at',
    world: worldOf({}, ['a/one']),
    commands: [
      alive(10),
      add('a/one', [...jobs(600, { deadline: 1000 }), job('last')]),
      advance(1000),
      ...numbers(4).map(() => fetch(1)),
      reserve(1, 5),
      { kind: 'result', key: 'a/one' },
    ],
  },
  {
    name: 'more groups above their share than are passed over',
    world: worldOf({ fairQueue: { maxShare: 0.01 } }, ['a/g0', 'a/g1', 'b/g0']),
    commands: [
      alive(100),
      ...manyGroups(20, 'a').map((key, n) => add(key, jobs(4), { weight: 1 + (n % 3) })),
      ...manyGroups(25, 'b').map((key, n) => add(key, jobs(4), { weight: 1 + (n % 4) })),
      ...numbers(8).map(() => fetch(9)),
      reserve(1, 30),
      fetch(5),
      {
        kind: 'heartbeat',
        instance: { id: 'one', startedAt: 1, slots: 100, waiting: 2, processorTypes: [] },
      },
      fetch(5),
    ],
  },
  {
    name: 'more leases to take away than one step takes',
    world: worldOf({ reliableQueue: { ackTimeoutMs: 1000, maxOrphanCount: 0 } }, ['a/one', 'b/one']),
    commands: [
      alive(1000),
      add('a/one', jobs(60)),
      add('b/one', jobs(60)),
      fetch(120),
      reserve(1, 100),
      { kind: 'giveBackAll', instanceId: 'one', max: 7 },
      advance(1000),
      ...numbers(3).map((): Command => ({ kind: 'recover', randoms: numbers(20).map((n) => n / 20) })),
      { kind: 'cancel', key: 'a/one' },
      ...numbers(5).map((): Command => ({ kind: 'sweep', max: 25 })),
      { kind: 'recover', randoms: numbers(100).map(() => 0.5) },
      ...numbers(3).map((): Command => ({ kind: 'redrive', filter: {}, max: 15 })),
    ],
  },
];
