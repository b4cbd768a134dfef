import { createHash } from 'node:crypto';
import { wait } from '@millrace/async-utils';
import type { BulkActionConfig } from '@millrace/bulk-action';
import type { Rng } from '@millrace/foundation';
import { readLedger, until } from '@millrace/testkit';
import {
  checkPayloads,
  checkRefused,
  checkShare,
  checkUntouched,
  type Prints,
  serviceOf,
  startsOf,
} from '../bulk/check-tenants.js';
import { type Evidence, gatherEvidence } from '../bulk/evidence.js';
import { fillUp, HOSTILE, ODD_NAMES, ODD_PAYLOADS } from '../bulk/hostile-input.js';
import { type Flood, HostileTenant } from '../bulk/hostile-tenant.js';
import { openEngine } from '../bulk/open-engine.js';
import { type JobScript, jobName, type Plan, type PlannedGroup, planJob } from '../bulk/plan.js';
import { checkAll, checkFront } from '../bulk/play.js';
import { bulkConfig, leaseMs } from '../bulk/settings.js';
import { openWorld, type World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

interface Size extends Flood {
  readonly workers: number;
  readonly slots: number;
  /** Jobs of each group of the good tenant. */
  readonly jobs: number;
  /** Most jobs of a tenant that wait: where the flood ends. */
  readonly queuedMax: number;
  /** A worker is killed each time so much of the good tenant's work has been done. */
  readonly killEvery: number;
}

const FULL: Size = {
  workers: 3,
  slots: 15,
  jobs: 600,
  queuedMax: 20_000,
  batch: 1000,
  callers: 8,
  killEvery: 0.08,
};
const SHORT: Size = {
  workers: 2,
  slots: 10,
  jobs: 24,
  queuedMax: 500,
  batch: 100,
  callers: 4,
  killEvery: 0.8,
};
const VICTIM = 'good';
const ENDS_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 20;
const SWEEP_STEP = 1000;
/** All that hostile input is refused with here. */
const CODES = [
  'ID_INVALID',
  'PAYLOAD_INVALID',
  'PAYLOAD_TOO_LARGE',
  'OPTION_INVALID',
  'OPTION_UNKNOWN',
  'QUEUE_FULL',
  'JOB_NOT_FOUND',
];

const configOf = (scale: number, { slots, queuedMax }: Size): BulkActionConfig => ({
  ...bulkConfig(scale, slots),
  limits: { tenantQueuedJobsMax: queuedMax },
});

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale } = context;
  const size = scale < 1 ? SHORT : FULL;
  const config = configOf(scale, size);
  await using world = await openWorld(context, { workers: size.workers, config });
  const { client, crew, redis, ledgerPath } = world;
  await using opened = openEngine({
    redis: { url: redis.url },
    config: { ...config, workerPool: { enabled: false } },
  });
  await opened.engine.start();
  const hostile = new HostileTenant(opened.engine, rng.fork('hostile'));
  const kept = oddGroup();
  const good = goodPlan(rng.fork('plan'), size.jobs);
  const plan: Plan = { groups: [...good.groups, kept], tenantCaps: {} };

  await hostile.imitate(ODD_NAMES);
  const looked = await submitHeld(world, kept, rng.fork('kept'));
  await hostile.fill(size.batch);
  const flooded = hostile.flood(size);
  await client.submit(good, rng.fork('submit'));
  const from = 1 + Math.max(0, ...startsOf(readLedger(ledgerPath)).map(({ token }) => token));
  const isOver = new AbortController();
  const work = client.ended(good.groups, ENDS_WITHIN_MS).finally(() => {
    isOver.abort();
    hostile.stop();
  });
  const beside = [
    hostile.attack(VICTIM).then(() => hostile.meddle(ODD_NAMES)),
    killNowAndThen(world, good, size, { rng: rng.fork('kills'), signal: isOver.signal }),
    flooded,
  ];
  await Promise.all([work, ...beside]);
  const shown = await hostile.cancelAll();
  await swept(world);
  await crew.everyoneUp();
  const drained = await crew.stop();

  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [redis.url] };
  const evidence = await gatherEvidence(plan, client, sources);
  const entries = readLedger(ledgerPath);
  return [
    ...checkAll(withinPlan(evidence), {}),
    checkFront(client.refusals, client.unclean),
    checkShare(serviceOf(startsOf(entries), VICTIM, from), size.jobs),
    checkUntouched(evidence, VICTIM, shown),
    checkPayloads(printsOf(plan), entries, looked),
    checkRefused(hostile.attempts, CODES),
    {
      invariant: 'I11 workers end on SIGTERM',
      held: drained && crew.deaths > 0,
      evidence: `${crew.deaths} workers died, ${hostile.accepted} hostile jobs beside`,
    },
  ];
}

/** Groups and jobs of odd names, with odd payloads, and one job of each group that ends as a dead letter. */
function goodPlan(rng: Rng, jobs: number): Plan {
  const script = (at: number): JobScript => {
    const [, make] = ODD_PAYLOADS[at % ODD_PAYLOADS.length] ?? [];
    return { does: 'works', ms: rng.integer(10, 40), cargo: make?.() };
  };
  return {
    tenantCaps: {},
    groups: ODD_NAMES.map((name) => ({
      input: { id: `${VICTIM}/${name}` },
      jobs: [
        planJob('j1', { does: 'fails-always', ms: 1, cargo: name }),
        ...ODD_NAMES.map((id, at) => planJob(id, script(at))),
        ...Array.from({ length: jobs - ODD_NAMES.length }, (_, at) => planJob(`j${at + 2}`, script(at))),
      ],
    })),
  };
}

/** What the hostile tenant may hand in: it is stored and given back as it is. */
function oddGroup(): PlannedGroup {
  const largest = fillUp({ does: 'works', ms: 1 }, 'cargo') as JobScript;
  const odd = ODD_PAYLOADS.map(([, make], at) =>
    planJob(`j${at}`, { does: 'works' as const, ms: 1, cargo: make() }),
  );
  return { input: { id: `${HOSTILE}/kept` }, jobs: [planJob('largest', largest), ...odd] };
}

const printOf = (payload: unknown): string =>
  createHash('sha256').update(JSON.stringify(payload)).digest('hex');

const printsOf = ({ groups }: Plan): Prints =>
  new Map(
    groups.flatMap(({ input, jobs }) =>
      jobs.map(({ id, script }) => [jobName(input.id, id), printOf(script)] as const),
    ),
  );

/** Hands a group in, looks at its jobs before they run, and lets them run to their end. */
async function submitHeld({ client }: World, group: PlannedGroup, rng: Rng): Promise<Prints> {
  const { service } = client;
  const { id } = group.input;
  await service.createGroup(group.input);
  await service.pauseGroup(id);
  await client.submitGroup(group, rng);
  const { items } = await service.listJobs(id, { limit: 1000 });
  await service.resumeGroup(id);
  await client.ended([group], ENDS_WITHIN_MS);
  return new Map(items.map((job) => [jobName(id, job.id), printOf(job.payload)]));
}

/** Kills a worker each time so much more of the work has been done. */
async function killNowAndThen(
  { client, crew }: World,
  { groups }: Plan,
  { killEvery }: Size,
  { rng, signal }: { rng: Rng; signal: AbortSignal },
): Promise<void> {
  const total = groups.reduce((sum, { jobs }) => sum + jobs.length, 0);
  for (let next = killEvery / 2; !signal.aborted; await wait(LOOK_EVERY_MS)) {
    const views = await Promise.all(groups.map(({ input }) => client.service.getGroup(input.id)));
    const done = views.reduce((sum, { counts }) => sum + counts.success + counts.failed, 0) / total;
    if (done < next) continue;
    await crew.kill(rng.integer(0, crew.size - 1));
    next += killEvery;
  }
}

/** Waits until nothing of the cancelled groups is left; sweeping is the workers' task, and this hurries it on. */
async function swept({ client }: World): Promise<void> {
  const { upkeep } = client.opened.engine.store;
  const isEmpty = async () => {
    while ((await upkeep.sweep(SWEEP_STEP)).more);
    const { lane, ready, nonReady, inFlight } = await client.service.getQueues();
    return lane + ready + nonReady + inFlight === 0;
  };
  await until(isEmpty, { what: 'the queues to be empty', deadlineMs: ENDS_WITHIN_MS, intervalMs: 20 });
}

/** Without what the hostile tenant did outside of the plan: its jobs were cancelled, and sent back to be run again. */
function withinPlan(evidence: Evidence): Evidence {
  const { plan, testimony } = evidence;
  const ids = new Set(plan.groups.map(({ input }) => input.id));
  const isPlanned = ({ job }: { readonly job: string }) => ids.has(job.split('#')[0] as string);
  return {
    ...evidence,
    testimony: {
      ...testimony,
      tries: testimony.tries.filter(isPlanned),
      settled: testimony.settled.filter(isPlanned),
    },
  };
}

registerScenario({
  name: 'bulk-hostile-tenant',
  what: 'bulk on Redis: one tenant floods, sends hostile ids and payloads and meddles with names of another, whose share and jobs stay its own; workers killed now and then',
  run,
});
