import { readLedger, until } from '@millrace/testkit';
import { Redis } from 'ioredis';
import { gatherEvidence } from '../bulk/evidence.js';
import { drawPlan, type Plan, type PlannedGroup, planJob } from '../bulk/plan.js';
import { checkAll } from '../bulk/play.js';
import { REFUSAL, registeredIn, submitNewGroup, submitUntilRefused } from '../bulk/refused-submit.js';
import { bulkConfig, leaseMs, PROCESSOR_TYPE } from '../bulk/settings.js';
import { runningJobs } from '../bulk/tries.js';
import { openWorld, type World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const WORKERS = 2;
const SLOTS = 10;
const PADDING = 'x'.repeat(10_000);
const ENDS_WITHIN_MS = 60_000;

/**
 * Redis has no memory left while every slot is taken: what runs is settled and its leases live on, new work is refused
 * with nothing left behind, and when there is memory again everything goes on.
 */
async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale } = context;
  await using world = await openWorld(context, { workers: WORKERS, config: bulkConfig(scale, SLOTS) });
  const { client, crew, ledgerPath } = world;
  const admin = new Redis(world.redis.url, { protocol: 2 });
  try {
    const large = await submitLarge(world, scale < 1 ? 200 : 2000);
    // Longer than a lease: they can only end well if leases are renewed meanwhile.
    const ms = Math.round(1.5 * leaseMs(scale));
    const size = { groups: 4, jobs: 3 * WORKERS * SLOTS, ms: [ms, ms], mixed: false } as const;
    const long = drawPlan(rng.fork('long'), size);
    await client.submit(long, rng.fork('submit'));
    await until(() => runningJobs(ledgerPath).length === WORKERS * SLOTS, { what: 'every slot to be taken' });

    const full = await fill(admin);
    const running = runningJobs(ledgerPath);
    const refused = await submitNewGroup(client, 'full');
    const left = await registeredIn(client, 'full');
    const settled = await settledWhileFull(world, running);
    const stillFull = await isFull(admin);
    await admin.config('SET', 'maxmemory', '0');

    const reached = await reachTheLimit(world, admin, scale);
    await admin.config('SET', 'maxmemory', '0');
    await client.service.resumeGroup('large');
    await client.submitGroup(refused.group, rng.fork('late'));
    const plan: Plan = { groups: [...long.groups, large, refused.group, reached.group], tenantCaps: {} };
    await client.ended(plan.groups, ENDS_WITHIN_MS);
    const drained = await crew.stop();

    const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [world.redis.url] };
    const codes = new Set([refused.code, reached.code]);
    return [
      ...checkAll(await gatherEvidence(plan, client, sources), {}),
      {
        invariant: 'submit refused cleanly',
        held: [...codes].join() === REFUSAL && left === 0 && reached.left === 0,
        evidence: `${[...codes].join()}; ${left + reached.left} jobs of refused calls left behind`,
      },
      {
        invariant: 'settle works',
        held: settled === running.length && running.length > 0 && full && stillFull,
        evidence: `${settled} of ${running.length} tries settled at once ${stillFull ? 'with' : 'without'} memory full`,
      },
      { invariant: 'I11 workers end on SIGTERM', held: drained, evidence: `${crew.deaths} workers died` },
    ];
  } finally {
    admin.disconnect();
  }
}

/** Jobs that fill the memory; their group is held. */
async function submitLarge({ client, ledger }: World, count: number): Promise<PlannedGroup> {
  const jobs = Array.from({ length: count }, (_, index) =>
    planJob(`j${index}`, { does: 'works', ms: 1, padding: PADDING }),
  );
  await client.service.createGroup({ id: 'large' });
  await client.service.pauseGroup('large');
  const inputs = jobs.map(({ id, script }) => ({ id, processorType: PROCESSOR_TYPE, payload: script }));
  await client.service.addJobs('large', inputs);
  for (const { id } of jobs) ledger.append({ kind: 'acknowledged', group: 'large', id });
  await client.service.seal('large');
  return { input: { id: 'large' }, jobs };
}

/** Takes the memory away, and some more, so that what is freed by settlements does not count. */
async function fill(admin: Redis): Promise<boolean> {
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
  await admin.config('SET', 'maxmemory', String(Math.round((await usedMemory(admin)) * 0.75)));
  return isFull(admin);
}

async function usedMemory(admin: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
}

const isFull = async (admin: Redis): Promise<boolean> =>
  admin.set('probe', '1').then(
    async () => {
      await admin.del('probe');
      return false;
    },
    (error: Error) => error.message.startsWith('OOM'),
  );

/** How many of these were run to their end and accepted while there was no memory. */
async function settledWhileFull({ ledgerPath }: World, jobs: readonly string[]): Promise<number> {
  const own = new Set(jobs);
  const count = () =>
    readLedger(ledgerPath).filter(
      ({ kind, job, jobStatus }) => kind === 'settled' && own.has(String(job)) && jobStatus === 'COMPLETED',
    ).length;
  await until(() => count() === own.size, { what: 'every try to settle', deadlineMs: 20_000 }).catch(
    () => {},
  );
  return count();
}

/** Hands jobs in until the memory is used up, as it comes about in life. */
async function reachTheLimit(
  world: World,
  admin: Redis,
  scale: number,
): Promise<{ code: string; left: number; group: PlannedGroup }> {
  const { client } = world;
  const room = scale < 1 ? 300_000 : 3_000_000;
  await admin.config('SET', 'maxmemory', String((await usedMemory(admin)) + room));
  const { code, group } = await submitUntilRefused(world, 'reached', { size: 5, padding: PADDING });
  const left = (await registeredIn(client, 'reached')) - group.jobs.length;
  await admin.config('SET', 'maxmemory', '0');
  await client.service.seal('reached', { total: group.jobs.length });
  return { code, left, group };
}

registerScenario({
  name: 'bulk-memory-full',
  what: 'bulk on Redis: maxmemory reached; submit is refused cleanly, leases live on, settle works',
  run,
});
