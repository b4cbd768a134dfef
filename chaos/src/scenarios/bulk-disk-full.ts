import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { isProcessGone, type RedisServer, until } from '@millrace/testkit';
import { Redis } from 'ioredis';
import { gatherEvidence } from '../bulk/evidence.js';
import { drawPlan, type Plan, type PlannedGroup } from '../bulk/plan.js';
import { checkAll } from '../bulk/play.js';
import { checkLiveness, measure } from '../bulk/probe.js';
import {
  type Attempt,
  REFUSAL,
  registeredIn,
  submitNewGroup,
  submitUntilRefused,
} from '../bulk/refused-submit.js';
import { bulkConfig, leaseMs } from '../bulk/settings.js';
import { fillDisk, freeDisk, startOnSmallDisk } from '../bulk/small-disk.js';
import { runningJobs } from '../bulk/tries.js';
import { EVERYSEC, openWorld, type World } from '../bulk/world.js';
import { measureRecovery } from '../recovery.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const WORKERS = 2;
const SLOTS = 10;
const PROBE_MS = 8000;
const ENDS_WITHIN_MS = 60_000;
/** Redis tries to append again every second. */
const WRITES_WITHIN_MS = 5000;

/** What callers met while the disk was full. */
interface FullDisk {
  /** What went through until the first refusal. */
  readonly edge: Attempt;
  /** Handed in while nothing went through. */
  readonly late: Attempt;
}

/**
 * Redis cannot append to its file while everybody works. With AOF everysec it lives on and refuses every write until
 * there is room; with AOF always it ends itself and is started again when there is. Either way nothing acknowledged is
 * lost, callers are told to come again, and no worker has to be restarted.
 */
async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale, folder } = context;
  await using world = await openWorld(context, {
    workers: WORKERS,
    config: bulkConfig(scale, SLOTS),
    redisArgs: EVERYSEC,
    startServer: (args) => startOnSmallDisk(folder, args),
  });
  const { client, crew, redis, ledgerPath } = world;
  const probe = (name: string) =>
    measure(client, {
      name,
      slots: WORKERS * SLOTS,
      ms: PROBE_MS * scale,
      ledger: ledgerPath,
      rng: rng.fork(name),
    });

  const before = await probe('before');
  const first = await loadUp(world, context, 'everysec');
  // Leases expire meanwhile, and nobody can renew them.
  const waiting = await whileFull(world, 'everysec', () => wait(1.5 * leaseMs(scale)));
  await freeDisk(redis);
  const backMs = await writesAgain(redis);
  const waitingLeft = await handInAgain(world, waiting, rng.fork('everysec again'));
  await client.ended([...first.groups, ...groupsOf(waiting)], ENDS_WITHIN_MS);
  const recovery = await measureRecovery(before, probe);

  await ask(redis, (admin) => admin.config('SET', 'appendfsync', 'always'));
  const second = await loadUp(world, context, 'always');
  const { pid } = redis;
  const ending = await whileFull(world, 'always', () =>
    until(() => isProcessGone(pid), { what: 'Redis to end itself' }),
  );
  await redis.restart();
  const endingLeft = await handInAgain(world, ending, rng.fork('always again'));
  await client.ended([...second.groups, ...groupsOf(ending)], ENDS_WITHIN_MS);
  const drained = await crew.stop();

  const own = [...first.groups, ...groupsOf(waiting), ...second.groups, ...groupsOf(ending)];
  const groups = [...own, ...recovery.probes.map(({ group }) => group)];
  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [redis.url] };
  const evidence = await gatherEvidence({ groups, tenantCaps: {} }, client, sources);
  const burnt = [...evidence.jobs.values()].filter(({ retryCount }) => retryCount > 0).length;
  return [
    ...checkAll(evidence, {}),
    checkRefusals([waiting, ending], waitingLeft + endingLeft),
    {
      invariant: 'no retry spent on it',
      held: burnt === 0,
      evidence: `${burnt} of ${evidence.jobs.size} jobs lost one`,
    },
    {
      invariant: 'writes again without a restart',
      held: backMs < WRITES_WITHIN_MS && crew.deaths === 0,
      evidence: `${(backMs / 1000).toFixed(1)} s after there was room (AOF everysec); ${crew.deaths} workers died`,
    },
    checkLiveness(recovery),
    { invariant: 'I11 workers end on SIGTERM', held: drained, evidence: `${crew.deaths} workers died` },
  ];
}

/** Hands work in until much of it is under way, and more is waiting. */
async function loadUp({ client, ledgerPath }: World, context: ScenarioContext, name: string): Promise<Plan> {
  const { rng, scale } = context;
  const size = { groups: 4, jobs: scale < 1 ? 40 : 2000, ms: [100, 200], mixed: false } as const;
  const drawn = drawPlan(rng.fork(name), size);
  const groups = drawn.groups.map((group) => ({ ...group, input: { id: `${name}-${group.input.id}` } }));
  const plan = { ...drawn, groups };
  await client.submit(plan, rng.fork(`submit ${name}`));
  await until(() => runningJobs(ledgerPath).length >= SLOTS, { what: 'half of the slots to be taken' });
  return plan;
}

/** Takes the disk away, waits for what that brings about, and looks how callers fare at the edge and afterwards. */
async function whileFull(world: World, name: string, struck: () => Promise<unknown>): Promise<FullDisk> {
  await world.client.service.createGroup({ id: `${name}-edge` });
  await fillDisk(world.redis);
  const [edge, late] = await Promise.all([
    submitUntilRefused(world, `${name}-edge`, { size: 2 }),
    struck().then(() => submitNewGroup(world.client, `${name}-late`)),
  ]);
  return { edge, late };
}

const groupsOf = ({ edge, late }: FullDisk): PlannedGroup[] => [edge.group, late.group];

/** @returns how many jobs of refused calls were stored all the same. */
async function handInAgain({ client }: World, { edge, late }: FullDisk, rng: Rng): Promise<number> {
  const { id } = edge.group.input;
  const unasked = (await registeredIn(client, id)) - edge.group.jobs.length;
  const left = unasked + (await registeredIn(client, late.group.input.id));
  await client.service.seal(id);
  await client.submitGroup(late.group, rng);
  return left;
}

/** @returns how long it took Redis to accept a write. */
async function writesAgain(redis: RedisServer): Promise<number> {
  const from = performance.now();
  const accepted = (admin: Redis) =>
    until(() => admin.del('nothing').then(() => true), {
      what: 'Redis to write again',
      deadlineMs: WRITES_WITHIN_MS,
    });
  await ask(redis, accepted);
  return performance.now() - from;
}

function checkRefusals(disks: readonly FullDisk[], left: number): Verdict {
  const attempts = disks.flatMap(({ edge, late }) => [edge, late]);
  const codes = [...new Set(attempts.map(({ code }) => code))].join();
  const onTheEdge = disks.map(({ edge }) => edge.group.jobs.length).join(' and ');
  return {
    invariant: 'submit refused cleanly',
    held: codes === REFUSAL && left === 0,
    evidence: `${codes}; ${left} jobs of refused calls left behind, ${onTheEdge} went through before`,
  };
}

async function ask<T>({ url }: RedisServer, question: (admin: Redis) => Promise<T>): Promise<T> {
  const admin = new Redis(url, { protocol: 2 });
  admin.on('error', () => {});
  try {
    return await question(admin);
  } finally {
    admin.disconnect();
  }
}

registerScenario({
  name: 'bulk-disk-full',
  what: 'bulk on Redis: no room for the AOF (everysec, then always); submit is refused cleanly, all goes on when freed',
  run,
});
