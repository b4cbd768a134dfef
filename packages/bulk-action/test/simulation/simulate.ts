import { Tally } from './chaos.js';
import { CLIENT_OPERATIONS } from './client.js';
import { checkFairness } from './fairness-check.js';
import { checkThroughput } from './throughput-check.js';
import type { Violation } from './truth.js';
import { INSTANCE_OPERATIONS, World, type WorldOptions } from './world.js';

/** What came of one seed. */
export interface Simulated {
  readonly seed: number;
  /** Of the event log. */
  readonly hash: string;
  readonly violations: readonly Violation[];
  readonly steps: number;
  readonly lines: readonly string[];
}

/** Longest virtual time from the last fault to the end of all work: retries, leases and limits included. */
const QUIET_MAX_MS = 120_000;
/** Longer than every retention. */
const RETENTION_MS = 32 * 24 * 3_600_000;
/** How soon a result is sent again after a call that failed. */
const REPEAT_MAX_MS = 5000;
const SWEEPS_MAX = 100;
/** Which seeds are asked for their speed at the end: it takes as long as the rest of a run. */
const THROUGHPUT_EVERY = 5;
const AUDIT_EVERY_STEPS = 120;
/** How often somebody looks whether work has ended. */
const PIECE_MS = 500;

const DISTURBANCES = [
  'killed between two steps',
  'event loop blocked',
  'store unreachable for all',
  'store unreachable for one',
  'store clock forward',
  'store clock back',
  'process clock jumps',
] as const;

/** Runs one seed to its end and checks every invariant. */
export async function simulate(seed: number, options: Partial<WorldOptions> = {}): Promise<Simulated> {
  const world = new World(seed, { tally: new Tally(), ...options });
  const { scheduler, violations } = world;
  try {
    await runFaulty(world);
    if (await runUntilOver(world)) {
      if (seed % THROUGHPUT_EVERY === 0 && world.scenario.mode !== 'fair') await checkThroughput(world);
      await checkAll(world);
    }
  } catch (error) {
    violations.check(false, 'I10', () => `the run ended with ${(error as Error)?.stack}`);
  }
  const { hash, lines } = scheduler.log;
  return { seed, hash, violations: violations.list, steps: scheduler.steps, lines };
}

/** Submits, disturbs and works until the faults stop. */
async function runFaulty(world: World): Promise<void> {
  const { scenario, scheduler, client } = world;
  const submitted = submitAll(world);
  // In a fair run everything waits before the first start.
  if (scenario.mode === 'fair') await scheduler.run(() => client.busy === 0 && submitted.done, 60_000);
  for (let index = 0; index < scenario.instances; index++) world.startInstance(index === 0);
  planOperations(world);
  await runAudited(world, scenario.faultyMs);
  world.chaos.on = false;
}

function submitAll(world: World): { done: boolean } {
  const { scenario, client } = world;
  const state = { done: false };
  let left = scenario.groups.length;
  const submit = async (planned: (typeof scenario.groups)[number]) => {
    await client.submit(planned);
    left -= 1;
    state.done = left === 0;
  };
  void client.setWeights().then(() => {
    for (const planned of scenario.groups)
      world.at(planned.atMs, `submit ${planned.group.id}`, () => void submit(planned));
  });
  return state;
}

function planOperations(world: World): void {
  const { scenario, client } = world;
  const rng = world.rng.fork('operations');
  const disturbances =
    scenario.rates.call > 0 ? [...INSTANCE_OPERATIONS, ...DISTURBANCES] : INSTANCE_OPERATIONS;
  for (let index = 0; index < scenario.operations; index++) {
    const at = rng.integer(0, scenario.faultyMs);
    if (rng.chance(0.6)) {
      const operation = rng.pick(CLIENT_OPERATIONS);
      world.at(at, operation, () => void client.operate(operation));
    } else {
      const what = rng.pick(disturbances);
      world.at(at, what, () => world.disturb(what));
    }
  }
}

/** Runs for a time, with a look at everything now and then. */
async function runAudited(world: World, untilMs: number): Promise<void> {
  const { scheduler, audit } = world;
  for (;;) {
    const auditAt = scheduler.steps + AUDIT_EVERY_STEPS - (scheduler.steps % AUDIT_EVERY_STEPS);
    const paused = await scheduler.run(() => scheduler.steps >= auditAt, untilMs);
    if (!paused) return;
    await audit.atAnyMoment();
  }
}

/** I10: without further faults all work ends, with nobody's help but that of one who resumes and seals. */
async function runUntilOver(world: World): Promise<boolean> {
  const { scheduler, client, audit, violations, chaos, truth } = world;
  const mostMs = QUIET_MAX_MS + world.wentBackMs;
  const end = scheduler.time + mostMs;
  for (const instance of world.instances) instance.scale(world.scenario.workers);
  world.startInstance(true);
  for (let over = false; !over; ) {
    if (scheduler.time >= end) {
      violations.check(false, 'I10', () => `work has not ended ${mostMs} ms after the last fault`);
      return false;
    }
    if (client.busy === 0) void client.resumeAndSeal(await audit.open());
    await runAudited(world, Math.min(end, scheduler.time + PIECE_MS));
    over =
      client.busy === 0 &&
      chaos.latecomers === 0 &&
      truth.leased.size === 0 &&
      (await audit.open()).length === 0;
  }
  return true;
}

async function checkAll(world: World): Promise<void> {
  const { scheduler, audit, violations, scenario, truth, store } = world;
  await audit.atTheEnd();
  if (scenario.mode === 'fair') checkFairness(truth, scenario.config, scenario.tenantWeights, violations);
  const owes = () => [...world.instances].some(({ process }) => world.poolCheck.owes(process));
  // A process that is held up sends nothing until it goes on.
  const heldUp = [...world.instances].map(({ process }) => process.frozenUntil);
  await scheduler.run(() => !owes(), Math.max(scheduler.time, ...heldUp) + REPEAT_MAX_MS);
  for (const instance of world.instances) {
    world.poolCheck.atTheEnd(instance.process);
    world.stopInstance(instance);
  }
  // All timers of stopped pools and abandoned processors run out.
  await scheduler.run(() => false, scheduler.time + 60_000);
  await sweepAll(world);
  await audit.afterTheSweep();
  await scheduler.run(() => false, scheduler.time + RETENTION_MS);
  await sweepAll(world);
  await store.upkeep.sweep(1000);
  await audit.afterRetention();
}

async function sweepAll({ store }: World): Promise<void> {
  for (let sweeps = 0; sweeps < SWEEPS_MAX; sweeps++) {
    const { swept, more } = await store.upkeep.sweep(1000);
    if (!more && swept === 0) return;
  }
}
