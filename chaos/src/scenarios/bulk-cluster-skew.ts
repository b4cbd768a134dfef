import { RedisKeyBuilder } from '@millrace/bulk-action';
import { readLedger } from '@millrace/testkit/ledger';
import { mostInWindow } from '../bulk/check-limits.js';
import { mastersOf, openClusterWorld, SHARDS } from '../bulk/cluster-world.js';
import { gatherEvidence } from '../bulk/evidence.js';
import { type Plan, type PlannedGroup, planJob } from '../bulk/plan.js';
import { checkAll } from '../bulk/play.js';
import { bulkConfig, leaseMs } from '../bulk/settings.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const WORKERS = 2;
const SLOTS = 20;
const GLOBAL_RPS = 300;
/** Of each shard: a tenth of its part of the rate. */
const BURST = GLOBAL_RPS / 10;
const [JOBS, SHORT_JOBS] = [4000, 400];
/** Part of the jobs that is in one shard, and how many tenants share them. */
const LOADED = 0.9;
const TENANTS = 4;
const ENDS_WITHIN_MS = 120_000;
/** How late the ledger may be told of a start. */
const LAG_MS = 300;
const LONGER = 1.1;

/** A tenant, its shard and its jobs. */
interface Customer {
  readonly tenantId: string;
  readonly shard: number;
  readonly jobs: number;
}

const KEYS = new RedisKeyBuilder({ shards: SHARDS });

/** By the keys that it would have: nobody else knows how tenants are spread. */
const shardOf = (tenantId: string): number =>
  Array.from({ length: SHARDS }, (_, shard) => KEYS.ofShard(shard).base).indexOf(
    KEYS.ofTenant(tenantId).base,
  );

/** Names that fall where they are wanted: four in the first shard, one in each other. */
function customers(jobs: number): Customer[] {
  const found: Customer[] = [];
  for (let n = 0; found.length < TENANTS + SHARDS - 1; n++) {
    const tenantId = `t${n}`;
    const shard = shardOf(tenantId);
    const isLoaded = shard === 0;
    if (found.filter((one) => one.shard === shard).length >= (isLoaded ? TENANTS : 1)) continue;
    const part = isLoaded ? LOADED / TENANTS : (1 - LOADED) / (SHARDS - 1);
    found.push({ tenantId, shard, jobs: Math.round(jobs * part) });
  }
  return found;
}

const groupOf = ({ tenantId, jobs }: Customer): PlannedGroup => ({
  input: { id: `of-${tenantId}`, tenantId },
  jobs: Array.from({ length: jobs }, (_, n) => planJob(`j${n}`, { does: 'works', ms: 5 })),
});

/** Nine tenths of the work is in one of three shards, and all of it is under one rate. */
async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale } = context;
  const config = {
    ...bulkConfig(scale, SLOTS),
    shards: SHARDS,
    backpressure: { globalRps: GLOBAL_RPS, burst: BURST, dispatchIntervalMs: 50 },
  };
  await using world = await openClusterWorld(context, { workers: WORKERS, config });
  const { client, crew, ledgerPath } = world;
  const all = customers(scale < 1 ? SHORT_JOBS : JOBS);
  const plan: Plan = { groups: all.map(groupOf), tenantCaps: {} };
  await client.submit(plan, rng.fork('submit'));
  await client.ended(plan.groups, ENDS_WITHIN_MS);
  const drained = await crew.stop();
  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: await mastersOf(world) };
  const evidence = await gatherEvidence(plan, client, sources);
  const starts = readLedger(ledgerPath)
    .filter(({ kind }) => kind === 'began')
    .map(({ at, job }) => ({ at, tenantId: String(job).replace(/^of-|#.*$/g, '') }));
  return [
    ...checkAll(evidence, {}),
    checkGlobalRate(starts),
    checkShares(starts, all),
    checkMakespan(starts, all),
    {
      invariant: 'I11 workers end on SIGTERM',
      held: drained,
      evidence: drained ? 'all drained' : 'one did not drain',
    },
  ];
}

interface Start {
  readonly at: number;
  readonly tenantId: string;
}

/** I7 over all shards: each keeps to its part, so all together keep to the whole. */
function checkGlobalRate(starts: readonly Start[]): Verdict {
  const most = mostInWindow(starts.map(({ at }) => at));
  const allowed = (GLOBAL_RPS * (1000 + LAG_MS)) / 1000 + BURST;
  return {
    invariant: 'I7 the global rate over all shards',
    held: most <= allowed,
    evidence: `${most} starts in the busiest second, ${GLOBAL_RPS} per second and a burst of ${BURST} allowed`,
  };
}

/** Within the loaded shard tenants of one weight get equal parts while all of them have work. */
function checkShares(starts: readonly Start[], all: readonly Customer[]): Verdict {
  const loaded = all.filter(({ shard }) => shard === 0);
  const lastOf = ({ tenantId }: Customer) =>
    Math.max(...starts.filter((one) => one.tenantId === tenantId).map(({ at }) => at));
  const until = Math.min(...loaded.map(lastOf));
  const served = loaded.map(
    ({ tenantId }) => starts.filter((one) => one.tenantId === tenantId && one.at <= until).length,
  );
  const sum = served.reduce((total, count) => total + count, 0);
  const jain = sum ** 2 / (served.length * served.reduce((total, count) => total + count ** 2, 0));
  return {
    invariant: 'I6 equal shares in the loaded shard',
    held: jain >= 0.99,
    evidence: `${served.join(', ')} starts of ${loaded.length} tenants: Jain ${jain.toFixed(4)}`,
  };
}

/** A rate that is divided can only be used where there is work: the loaded shard takes as long as its part of it allows. */
function checkMakespan(starts: readonly Start[], all: readonly Customer[]): Verdict {
  const jobs = all.filter(({ shard }) => shard === 0).reduce((sum, one) => sum + one.jobs, 0);
  const times = starts.map(({ at }) => at);
  const tookMs = Math.max(...times) - Math.min(...times);
  const idealMs = ((jobs - BURST / SHARDS) * 1000) / (GLOBAL_RPS / SHARDS);
  return {
    invariant: 'the loaded shard uses its part of the rate',
    held: tookMs <= idealMs * LONGER + LAG_MS,
    evidence: `${(tookMs / 1000).toFixed(1)} s for ${jobs} jobs at ${GLOBAL_RPS / SHARDS} per second, ideally ${(idealMs / 1000).toFixed(1)}`,
  };
}

registerScenario({
  name: 'bulk-cluster-skew',
  what: 'bulk on a Redis Cluster, 3 shards: 90 % of the work in one of them, under a global rate',
  run,
});
