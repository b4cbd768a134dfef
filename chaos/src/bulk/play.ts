import { measureRecovery } from '../recovery.js';
import type { ScenarioContext, Verdict } from '../registry.js';
import { checkCountedOnce, checkNoLoss, checkNothingLeft } from './check-ends.js';
import { checkKeys } from './check-keys.js';
import { checkCaps, checkRates } from './check-limits.js';
import { checkExecutions, checkStaleRefused } from './check-tries.js';
import { type Evidence, gatherEvidence } from './evidence.js';
import { drawPlan, type Plan, type PlanSize } from './plan.js';
import { checkLiveness, measure } from './probe.js';
import { bulkConfig, type JobLimits, leaseMs, type WorkerBrief } from './settings.js';
import { openWorld, type World } from './world.js';

/** What is done to the running world. */
export interface Storm<W = World> {
  /** One fault; called again and again until every job has ended. */
  strike(world: W, context: ScenarioContext): Promise<void>;
  /** Takes back what would keep the jobs from ending, when the scenario is over. */
  calm?(world: W): Promise<void>;
}

/** A scenario of faults under load. */
export interface Play extends JobLimits {
  readonly workers: number;
  /** Processes take most of the time of a short run: fewer where the scenario does not need them. */
  readonly shortWorkers?: number;
  /** Jobs one worker runs at once. */
  readonly slots: number;
  plan(context: ScenarioContext): Plan;
  /** A new one for every run: storms remember what they did. */
  storm(): Storm;
  readonly redisArgs?: readonly string[];
  readonly viaProxy?: boolean;
  /** What else workers are told. */
  readonly brief?: Pick<WorkerBrief, 'twiceTold'>;
  /** How slowly work is handed in: see BulkClient.submit. */
  paceMs?(scale: number): number;
  /** Faults in `npm test`; as many as fit before the last job ends unless given. */
  readonly shortStrikes?: number;
  /** Whether throughput is measured before the faults and after: liveness mode. */
  readonly liveness?: boolean;
  /** What runs the jobs whose speed is measured; one that no refusal has slowed unless given. */
  readonly probedType?: string;
  /** Whether the faults must bring about stale settlements. */
  readonly staleExpected?: boolean;
  /** How late the ledger may be told of a start. */
  readonly startLagMs?: number;
  /** What else must hold. */
  judge?(evidence: Evidence, world: World): readonly Verdict[] | Promise<readonly Verdict[]>;
}

const START_LAG_MS = 300;
const PROBE_MS = 8000;
const ENDS_WITHIN_MS = 480_000;

/**
 * Draws the plan of a run.
 * @param short - what is smaller in `npm test`.
 */
export const planFor = ({ rng, scale }: ScenarioContext, full: PlanSize, short: Partial<PlanSize>): Plan =>
  drawPlan(rng.fork('plan'), scale < 1 ? { ...full, ...short } : full);

/**
 * Plays a scenario: work is handed in while faults strike, until every job has ended; then quiet, and the judgement.
 * @param context - the scenario's.
 */
export async function runPlay(play: Play, context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale } = context;
  const { slots, liveness = false } = play;
  const workers = scale < 1 ? (play.shortWorkers ?? play.workers) : play.workers;
  const config = bulkConfig(scale, slots, play);
  const { redisArgs = [], viaProxy = false, brief = {} } = play;
  await using world = await openWorld(context, { workers, config, redisArgs, viaProxy, brief });
  const { client, crew, ledgerPath } = world;
  const plan = play.plan(context);
  const probe = (name: string) =>
    measure(client, {
      name,
      slots: workers * slots,
      ms: PROBE_MS * scale,
      ledger: ledgerPath,
      rng: rng.fork(name),
      type: play.probedType,
    });

  const before = liveness ? await probe('before') : undefined;
  const strikesMax = scale < 1 ? play.shortStrikes : undefined;
  const strikes = await underFire(play.storm(), world, context, {
    plan,
    strikesMax,
    paceMs: play.paceMs?.(scale),
  });
  await crew.everyoneUp();
  const recovery = before && (await measureRecovery(before, probe));
  const ended = await crew.stop();

  const probes = recovery?.probes ?? [];
  const all = { ...plan, groups: [...plan.groups, ...probes.map(({ group }) => group)] };
  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [world.redis.url] };
  const evidence = await gatherEvidence(all, client, sources);
  return [
    ...checkAll(evidence, play),
    checkFront(client.refusals, client.unclean),
    ...(recovery ? [checkLiveness(recovery)] : []),
    {
      invariant: 'I11 workers end on SIGTERM',
      held: ended && strikes > 0,
      evidence: `${strikes} strikes, ${crew.deaths} workers died; ${ended ? 'the rest drained' : 'one did not drain'}`,
    },
    ...((await play.judge?.(evidence, world)) ?? []),
  ];
}

/** Everything that must hold after any scenario. */
export function checkAll(
  evidence: Evidence,
  { staleExpected = false, startLagMs = START_LAG_MS }: Pick<Play, 'staleExpected' | 'startLagMs'>,
): Verdict[] {
  return [
    checkNoLoss(evidence),
    checkCountedOnce(evidence),
    checkExecutions(evidence),
    checkStaleRefused(evidence, staleExpected),
    checkCaps(evidence),
    checkRates(evidence, startLagMs),
    checkNothingLeft(evidence),
    checkKeys(evidence),
  ];
}

/** A caller is refused with "try again later" and nothing else. */
export const checkFront = (
  refusals: Readonly<Record<string, number>>,
  unclean: readonly string[],
): Verdict => ({
  invariant: 'refused cleanly',
  held: unclean.length === 0,
  evidence:
    Object.entries(refusals)
      .map(([code, times]) => `${code} × ${times}`)
      .join(', ') || 'no call refused',
});

/** What is worked on under fire. */
interface Fire {
  readonly plan: Plan;
  readonly strikesMax?: number | undefined;
  readonly paceMs?: number | undefined;
}

/**
 * Hands the work in while faults strike, until all of it has ended.
 * @param context - the scenario's.
 * @returns how many there were.
 */
export async function underFire<W extends Pick<World, 'client'>>(
  storm: Storm<W>,
  world: W,
  context: ScenarioContext,
  { plan, strikesMax = Number.POSITIVE_INFINITY, paceMs }: Fire,
): Promise<number> {
  const { client } = world;
  let over = false;
  let strikes = 0;
  const strikeOn = async () => {
    for (; !over && strikes < strikesMax; strikes++) await storm.strike(world, context);
    await storm.calm?.(world);
  };
  const work = async () => {
    try {
      await client.submit(plan, context.rng.fork('submit'), paceMs);
      await client.ended(plan.groups, ENDS_WITHIN_MS);
    } finally {
      over = true;
    }
  };
  const faults = strikeOn();
  faults.catch(() => {}); // Told below, when the work is over too.
  await work();
  await faults;
  return strikes;
}
