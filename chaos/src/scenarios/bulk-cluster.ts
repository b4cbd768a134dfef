import { wait } from '@millrace/async-utils';
import { Redis } from 'ioredis';
import { checkNothingLeft } from '../bulk/check-ends.js';
import { checkKeys } from '../bulk/check-keys.js';
import { type ClusterWorld, keyOfShard, mastersOf, openClusterWorld, SHARDS } from '../bulk/cluster-world.js';
import { type Evidence, gatherEvidence } from '../bulk/evidence.js';
import { checkAll, planFor, type Storm, underFire } from '../bulk/play.js';
import { checkLiveness, measure, type Probe } from '../bulk/probe.js';
import { bulkConfig, leaseMs } from '../bulk/settings.js';
import { measureRecovery, type Recovery } from '../recovery.js';
import { registerScenario, type ScenarioContext, some, type Verdict } from '../registry.js';

const SLOTS = 10;
const [WORKERS, SHORT_WORKERS] = [4, 2];
const PROBE_MS = 6000;
const REPLICATED_WITHIN_MS = 5000;
/** From a dead master to the one that was elected, and until everybody has found it. */
const OUTAGE_MS = 6000;

const SIZE = { groups: 60, jobs: 6000, ms: [20, 200], mixed: true } as const;
const SHORT_SIZE = { groups: 12, jobs: 240 };

const configOf = (scale: number) => ({ ...bulkConfig(scale, SLOTS), shards: SHARDS });

/** One run on a cluster: what strikes, and what must hold in the end. */
interface ClusterPlay {
  readonly storm: Storm<ClusterWorld>;
  /** Whether the faults wait until everything is handed in and on the replicas. */
  readonly handedIn: boolean;
  readonly shortStrikes: number;
  judge(evidence: Evidence): readonly Verdict[];
}

async function run(play: ClusterPlay, context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale } = context;
  const workers = scale < 1 ? SHORT_WORKERS : WORKERS;
  await using world = await openClusterWorld(context, { workers, config: configOf(scale) });
  const { client, crew, ledgerPath } = world;
  const slots = workers * SLOTS;
  const probe = (name: string) =>
    measure(client, { name, slots, ms: PROBE_MS * scale, ledger: ledgerPath, rng: rng.fork(name) });

  const before = await probe('before');
  const plan = planFor(context, SIZE, SHORT_SIZE);
  if (play.handedIn) {
    await client.submit(plan, rng.fork('submit'));
    await replicated(world);
  }
  const strikesMax = scale < 1 ? play.shortStrikes : undefined;
  const strikes = await underFire(play.storm, world, context, { plan, strikesMax });
  await crew.everyoneUp();
  const recovery = await measureRecovery(before, probe);
  const drained = await crew.stop();
  const evidence = await gatherEvidence(
    { ...plan, groups: [...plan.groups, ...recovery.probes.map(({ group }) => group)] },
    client,
    { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: await mastersOf(world) },
  );
  return [...play.judge(evidence), ...alive(recovery, strikes, drained)];
}

const alive = (recovery: Recovery<Probe>, strikes: number, drained: boolean): Verdict[] => [
  checkLiveness(recovery),
  {
    invariant: 'I11 workers end on SIGTERM',
    held: drained && strikes > 0,
    evidence: `${strikes} strikes; ${drained ? 'all drained' : 'one did not drain'}`,
  },
];

/** Waits until every master has handed what it holds to its replica: a submit that is lost with a master is lost. */
async function replicated(world: ClusterWorld): Promise<void> {
  for (const url of await mastersOf(world)) {
    const admin = new Redis(url, { protocol: 2 });
    try {
      if ((await admin.wait(1, REPLICATED_WITHIN_MS)) < 1) throw new Error(`${url} has no replica in sync`);
    } finally {
      admin.disconnect();
    }
  }
}

const pauseBetween = ({ rng, scale }: ScenarioContext): Promise<void> =>
  wait(scale < 1 ? rng.integer(100, 300) : rng.integer(1000, 3000));

/** Roles are exchanged as for maintenance: the replica has everything before it takes over. */
const failovers: ClusterPlay = {
  handedIn: false,
  shortStrikes: 3,
  storm: {
    async strike({ cluster }, context) {
      await pauseBetween(context);
      await cluster.failover(keyOfShard(context.rng.integer(0, SHARDS - 1)));
      await cluster.healthy();
    },
  },
  judge: (evidence) => checkAll(evidence, { startLagMs: OUTAGE_MS }),
};

/** A master dies with what it has not passed on; its replica takes over, and it comes back as the replica. */
const kills: ClusterPlay = {
  handedIn: true,
  shortStrikes: 1,
  storm: {
    async strike({ cluster }, context) {
      await pauseBetween(context);
      const shard = context.rng.integer(0, SHARDS - 1);
      const master = await cluster.masterOf(keyOfShard(shard));
      await master.kill();
      await wait(OUTAGE_MS / 2);
      await master.restart();
      await cluster.healthy();
    },
  },
  judge: (evidence) => [
    checkEnds(evidence),
    checkCounts(evidence),
    checkNothingLeft(evidence),
    checkKeys(evidence),
  ],
};

/** What was on the replicas when the masters began to die has ended, as planned. */
function checkEnds({ plan, jobs }: Evidence): Verdict {
  const wrong = plan.groups.flatMap(({ input, jobs: own }) =>
    own.flatMap(({ id, ends }) => {
      const job = jobs.get(`${input.id}#${id}`);
      return job?.status === ends ? [] : [`${input.id}#${id} is ${job?.status ?? 'gone'}, not ${ends}`];
    }),
  );
  return {
    invariant: 'I1 no loss of what was replicated',
    held: wrong.length === 0,
    evidence: wrong.length > 0 ? some(wrong) : `${jobs.size} jobs, each ended as planned`,
  };
}

/** A settlement that died with a master is made again; however often a job ran, it is counted once. */
function checkCounts({ plan, groups, results, testimony }: Evidence): Verdict {
  const wrong = groups.filter(({ id, counts }) => {
    const planned = plan.groups.find(({ input }) => input.id === id)?.jobs.length;
    const result = results.get(id);
    const sum = counts.success + counts.failed;
    return sum !== planned || counts.registered !== planned || result?.total !== planned;
  });
  const ran = testimony.tries.filter(({ how }) => how === 'done').length;
  const counted = groups.reduce((sum, { counts }) => sum + counts.success, 0);
  return {
    invariant: 'I2 counted exactly once',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0
        ? some(wrong.map(({ id, counts }) => `${id} counts ${JSON.stringify(counts)}`))
        : `${counted} successes counted of ${ran} runs that succeeded`,
  };
}

registerScenario({
  name: 'bulk-cluster-failover',
  what: 'bulk on a Redis Cluster, 3 shards: planned failovers of their masters under load',
  run: (context) => run(failovers, context),
});

registerScenario({
  name: 'bulk-cluster-killed',
  what: 'bulk on a Redis Cluster, 3 shards: masters killed -9 under load; what was not replicated is lost, nothing else',
  run: (context) => run(kills, context),
});
