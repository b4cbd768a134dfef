import type { Delivery } from '../../../src/next/engine/engine.js';
import type { NewJob } from '../../../src/next/engine/format/chunk.js';
import type { AttemptOutcome, Settlement } from '../../../src/next/engine/run/settle.js';
import type { GroupSettings } from '../../../src/next/engine/state/change.js';
import { DEFAULT_QUEUE } from '../../../src/next/engine/state/position.js';
import { newJob } from '../engine/store.js';
import { RESOURCES } from './truth.js';
import type { Instance, World } from './world.js';

/** Something that may happen next. One that is impossible now does nothing. */
export interface Action {
  readonly name: string;
  readonly weight: number;
  run(world: World): void;
}

const TENANTS = ['', 'acme', 'blue', 'coal'];
const GROUPS = 4;
export const INSTANCES_MAX = 8;

/** Returns one of the instances in a state that fit. */
export function instanceOf(
  { rng, instances }: World,
  fits: (instance: Instance) => boolean,
): Instance | undefined {
  const found = [...instances.values()].filter(fits);
  return found.length > 0 ? rng.pick(found) : undefined;
}

/** Draws the definition of a group. */
function settingsOf({ rng, clockUs }: World): GroupSettings {
  const nowMs = clockUs / 1000;
  const rps = rng.chance(0.15) ? rng.integer(5, 50) : undefined;
  return {
    weight: rng.pick([1, 1, 1, 2, 5]),
    priorityLevel: rng.pick(['normal', 'normal', 'high', 'low']),
    rps,
    burst: rps && rng.chance(0.3) ? rng.integer(1, 5) : undefined,
    concurrency: rng.chance(0.15) ? rng.integer(1, 3) : undefined,
    // A job that is never started must not end by its timeout.
    timeoutMs: 4_000 * 86_400_000,
    deadlineMs: rng.chance(0.05) ? Math.floor(nowMs + rng.integer(0, 3_000)) : undefined,
    notBeforeMs: rng.chance(0.05) ? Math.floor(nowMs + rng.integer(0, 3_000)) : undefined,
    isOrdered: rng.chance(0.15),
    isSealable: rng.chance(0.6),
  };
}

function jobOf({ rng, clockUs }: World, type: string): NewJob {
  const deadlineMs = rng.chance(0.02) ? Math.floor(clockUs / 1000 + rng.integer(0, 2_000)) : undefined;
  return newJob({ type, cost: rng.pick([1, 1, 1, 2, 3]), deadlineMs });
}

/** A caller submits jobs to a group, old or new, in chunks as the calls were cut. */
function submit(world: World): void {
  const { rng, journal, truth } = world;
  const tenantId = rng.pick(TENANTS);
  const prefix = `${tenantId}/g${rng.integer(1, GROUPS)}`;
  const count = Math.min(world.jobsLeft, rng.pick([0, 1, 1, 3, 10, 40, 150]));
  const round = [...journal.identities].filter(
    ([id, { hasEnded, isSealed }]) => id.startsWith(prefix) && (hasEnded || isSealed),
  ).length;
  // Now and then the call comes too late: the group was sealed or has ended.
  const groupId = `${prefix}.${round - (round > 0 && rng.chance(0.1) ? 1 : 0)}`;
  const settings = truth.groups.get(groupId)?.settings ?? settingsOf(world);
  const type = groupId.includes('g1') ? 'R' : 'T';
  const chunks: NewJob[][] = [];
  for (let left = count; left > 0; left -= chunks.at(-1)?.length ?? 0)
    chunks.push(Array.from({ length: Math.min(left, rng.pick([1, 7, 64, 64])) }, () => jobOf(world, type)));
  const queue = settings.isOrdered ? DEFAULT_QUEUE : rng.pick([DEFAULT_QUEUE, DEFAULT_QUEUE, 0, 9]);
  const isSealed = settings.isSealable && rng.chance(0.15);
  const addresses = journal.submit({
    groupId,
    tenantId,
    settings,
    chunks,
    queue,
    dueMs: undefined,
    isSealed,
  });
  world.say(() => `  ${count} jobs for ${groupId}: ${addresses}`);
  if (typeof addresses === 'string') {
    world.options.tally.meet(addresses);
    return;
  }
  world.jobsLeft -= count;
  const group = truth.group(groupId, tenantId, settings);
  for (const [index, address] of addresses.entries())
    truth.acknowledge(group, address, chunks[index] ?? [], undefined);
}

/** An instance launches what was delivered to it. */
export function take({ journal }: World, instance: Instance): void {
  instance.running.push(...(journal.deliveries.get(instance.id) ?? []));
  journal.deliveries.delete(instance.id);
}

/** Draws how an attempt ends. */
export function outcomeOf({ rng, options }: World): AttemptOutcome {
  const outcomes: readonly AttemptOutcome[] = [
    ...Array.from({ length: 14 }, () => ({ kind: 'success' }) as const),
    { kind: 'failure', code: rng.pick(['BROKEN', 'REFUSED']) },
    { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: rng.integer(0, 200), spendsRetry: true },
    { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: rng.integer(0, 2000), spendsRetry: false },
    { kind: 'returned' },
    {
      kind: 'throttled',
      retryAfterMs: rng.chance(0.5) ? rng.integer(0, 2_000) : undefined,
      random: rng.next(),
    },
  ];
  const outcome = rng.pick(outcomes);
  options.tally.meet(`outcome ${outcome.kind}`);
  return outcome;
}

/** Settles one attempt that an instance runs. */
export function settleOne(
  world: World,
  instance: Instance,
  delivery: Delivery,
  outcome: AttemptOutcome,
): void {
  instance.running.splice(instance.running.indexOf(delivery), 1);
  const { groupId, position, attempt } = delivery;
  const settlement: Settlement = {
    groupId,
    position,
    attempt,
    durationMs: world.rng.integer(0, 100),
    outcome,
  };
  world.settle(instance, settlement);
}

function settle(world: World): void {
  const instance = instanceOf(world, ({ state, running }) => state === 'LIVE' && running.length > 0);
  if (instance) settleOne(world, instance, world.rng.pick(instance.running), outcomeOf(world));
}

/** A process joins. */
export function join(world: World, slots: number): void {
  const id = `i${world.instances.size}`;
  const types = ['T', 'R'];
  world.instances.set(id, { id, slots, types, state: 'LIVE', running: [], unanswered: [] });
  world.journal.announce(id, { slots, types, resources: RESOURCES });
}

/** A process that fell silent beats again: if it was declared dead meanwhile, what it runs is lost to it, and settles too late. */
export function comeBack(world: World): void {
  const instance = instanceOf(world, ({ state, id }) => state === 'SILENT' && !world.owner?.isBurying(id));
  if (!instance) return;
  const { id, slots, types, running } = instance;
  instance.state = 'LIVE';
  if (world.journal.instances.has(id)) {
    if (world.owner) world.stopLost(instance);
    return;
  }
  for (const delivery of [...running]) settleOne(world, instance, delivery, outcomeOf(world));
  world.journal.announce(id, { slots, types, resources: RESOURCES });
}

/** An owner declares processes dead that do not beat. */
export function bury(world: World): void {
  const { owner, journal, instances } = world;
  if (!owner) return;
  const known = new Set([...journal.instances.keys(), ...owner.engine.state.instances.keys()]);
  const dead = [...known].filter((id) => instances.get(id)?.state !== 'LIVE' && !owner.isBurying(id));
  if (dead.length > 0) owner.bury(dead);
}

/** A commit is sent, stored and answered. */
export function commit(world: World): boolean {
  if (world.owner?.sent) finish(world);
  if (!world.send()) return false;
  finish(world);
  return true;
}

function finish(world: World): void {
  if (!world.owner?.sent) return;
  world.store();
  world.answer();
}

const command = (world: World, run: (groupId: string) => void): void => {
  const ids = [...world.truth.groups.keys()];
  if (ids.length > 0) run(world.rng.pick(ids));
};

/** Everything that may happen. A new input of the engine is a row. */
export const ACTIONS: readonly Action[] = [
  { name: 'submit', weight: 6, run: submit },
  {
    name: 'seal',
    weight: 1,
    run: (world) => command(world, (groupId) => seal(world, groupId)),
  },
  {
    name: 'take',
    weight: 14,
    run(world) {
      const instance = instanceOf(world, ({ state }) => state === 'LIVE');
      if (instance) take(world, instance);
    },
  },
  { name: 'settle', weight: 26, run: settle },
  { name: 'time passes', weight: 10, run: (world) => world.pass(world.rng.integer(0, 60_000)) },
  { name: 'receive', weight: 12, run: (world) => world.owner?.receive(world.rng.integer(1, 20)) },
  { name: 'commit', weight: 20, run: commit },
  { name: 'send a commit', weight: 3, run: (world) => void world.send() },
  { name: 'answer a commit', weight: 3, run: finish },
  {
    name: 'pause a group',
    weight: 1,
    run: (world) =>
      command(world, (groupId) => world.journal.inbox.push({ kind: 'pause-group', groupId, isPaused: true })),
  },
  {
    name: 'resume a group',
    weight: 1,
    run: (world) =>
      command(world, (groupId) =>
        world.journal.inbox.push({ kind: 'pause-group', groupId, isPaused: false }),
      ),
  },
  {
    name: 'cancel a group',
    weight: 0.3,
    run: (world) => command(world, (groupId) => world.journal.inbox.push({ kind: 'cancel-group', groupId })),
  },
  {
    name: 'pause or resume a tenant',
    weight: 0.6,
    run: ({ journal, rng }) =>
      journal.inbox.push({ kind: 'pause-tenant', tenantId: rng.pick(TENANTS), isPaused: rng.chance(0.4) }),
  },
  {
    name: 'pause or resume a resource',
    weight: 0.3,
    run: ({ journal, rng }) =>
      journal.inbox.push({ kind: 'pause-resource', name: 'service', isPaused: rng.chance(0.4) }),
  },
  {
    name: 'pause or resume everything',
    weight: 0.3,
    run: ({ journal, rng }) => journal.inbox.push({ kind: 'pause-all', isPaused: rng.chance(0.3) }),
  },
  {
    name: 'update a group',
    weight: 0.8,
    run: (world) =>
      command(world, (groupId) => {
        const { weight, priorityLevel } = settingsOf(world);
        world.journal.inbox.push({
          kind: 'update-group',
          groupId,
          update: { weight, priorityLevel, ...limitsOf(world) },
        });
      }),
  },
  {
    name: 'update a tenant',
    weight: 0.8,
    run(world) {
      const { journal, rng } = world;
      const update = {
        weight: rng.pick([1, 1, 2, 3]),
        ...limitsOf(world),
        ...(rng.chance(0.2) && { minShare: 0.2 }),
      };
      journal.inbox.push({ kind: 'update-tenant', tenantId: rng.pick(TENANTS), update });
    },
  },
  {
    name: 'update a resource',
    weight: 0.3,
    run: (world) =>
      world.journal.inbox.push({ kind: 'update-resource', name: 'service', update: limitsOf(world) }),
  },
  {
    name: 'update everything',
    weight: 0.3,
    run: (world) => world.journal.inbox.push({ kind: 'update-global', update: { rps: limitsOf(world).rps } }),
  },
  { name: 'cancel a job', weight: 1, run: (world) => commandJob(world, 'cancel-job') },
  { name: 'run a job now', weight: 1, run: (world) => commandJob(world, 'run-job') },
];

function commandJob(world: World, kind: 'cancel-job' | 'run-job'): void {
  command(world, (groupId) => {
    const positions = [...(world.truth.groups.get(groupId)?.jobs.keys() ?? [])];
    if (positions.length > 0)
      world.journal.inbox.push({ kind, groupId, position: world.rng.pick(positions) });
  });
}

/** Draws new limits; null takes one away. */
const limitsOf = ({ rng }: World) => ({
  rps: rng.chance(0.2) ? rng.integer(5, 50) : null,
  concurrency: rng.chance(0.2) ? rng.integer(1, 4) : null,
});

/** Ends all pauses. */
export function resumeAll({ journal, truth }: World): void {
  for (const groupId of truth.groups.keys())
    journal.inbox.push({ kind: 'pause-group', groupId, isPaused: false });
  for (const tenantId of TENANTS) journal.inbox.push({ kind: 'pause-tenant', tenantId, isPaused: false });
  journal.inbox.push({ kind: 'pause-resource', name: 'service', isPaused: false });
  journal.inbox.push({ kind: 'pause-all', isPaused: false });
}

/** Seals a group that its caller has filled. */
export function seal({ journal, truth }: World, groupId: string): void {
  const group = truth.groups.get(groupId);
  if (!group?.settings.isSealable) return;
  const { settings } = group;
  const [tenantId = ''] = groupId.split('/');
  journal.submit({
    groupId,
    tenantId,
    settings,
    chunks: [],
    queue: DEFAULT_QUEUE,
    dueMs: undefined,
    isSealed: true,
  });
}
