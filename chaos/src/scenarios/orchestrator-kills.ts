import { wait } from '@millrace/async-utils';
import { Callers } from '../orchestrator/caller.js';
import {
  checkAnswers,
  checkKills,
  checkRefusals,
  checkRepairs,
  checkTold,
} from '../orchestrator/check-answers.js';
import { checkBatches, checkErrands } from '../orchestrator/check-backings.js';
import { checkEnds, checkNoLoss, checkNothingLeft, checkOneOutcome } from '../orchestrator/check-ends.js';
import { checkExecutions, checkStaleRefused } from '../orchestrator/check-runs.js';
import { type Evidence, gatherEvidence, listed } from '../orchestrator/evidence.js';
import { Faults } from '../orchestrator/faults.js';
import { Metronome } from '../orchestrator/metronome.js';
import { drawPlan } from '../orchestrator/plan.js';
import { type OrchestratorScale, orchestratorScale } from '../orchestrator/settings.js';
import { type OrchestratorWorld, openOrchestratorWorld } from '../orchestrator/world.js';
import { asking } from '../postgres.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

/** What is late is waited for, so that the verdict can say how late. */
const PATIENCE = 2;

/** How often it is asked whether all has ended. */
const LOOK_EVERY_MS = 100;

/** The grace period, and what a call to a PostgreSQL that does not answer takes. */
const STOPS_WITHIN_MS = 5000;

const inSeconds = (ms: number, withinMs: number): string =>
  `${(ms / 1000).toFixed(1)} s of ${withinMs / 1000} s`;

/** Ended is what is not only decided, but over: a cancelled batch may still have to be told. */
const OPEN = `
  SELECT (SELECT count(*) FROM millrace.operation WHERE ended_at IS NULL)::int
    + (SELECT count(*) FROM millrace.batch_instance WHERE status = 'RUNNING')::int AS count`;

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const scale = orchestratorScale(context.scale);
  const plan = drawPlan(context.rng.fork('plan'), scale.size);
  await using world = await openOrchestratorWorld(context, plan, scale);
  const { instances, postgres, ledgerPath, beginsAt } = world;
  const faults = new Faults(world, context.rng.fork('faults'), scale);
  using metronome = new Metronome();
  const callers = new Callers(world, plan, context.rng.fork('callers'), metronome);
  const called = callers.run();
  await faults.strike(beginsAt + scale.size.arrivalMs);
  const doneInMs = await allEnded(world, called, PATIENCE * scale.doneWithinMs);
  callers.giveUp();
  await called;
  await instances.everyoneUp();
  const stopping = performance.now();
  const isStopped = await instances.stop();
  const stoppedInMs = performance.now() - stopping;
  const evidence = await gatherEvidence(plan, { url: postgres.url, ledgerPath });
  return [
    ...checkAll(evidence, scale),
    {
      invariant: 'I10 done after the last fault',
      held: doneInMs <= scale.doneWithinMs,
      evidence: inSeconds(doneInMs, scale.doneWithinMs),
    },
    checkStops(evidence, isStopped, stoppedInMs),
    {
      invariant: 'every fault happened',
      held: !scale.isWhole || Object.values(faults.tally).every((count) => count > 0),
      evidence: listed({ ...faults.tally }),
    },
  ];
}

/** Everything that must hold, whatever was done. */
const checkAll = (evidence: Evidence, { isWhole }: OrchestratorScale): Verdict[] => [
  ...[
    checkNoLoss,
    checkOneOutcome,
    checkEnds,
    checkTold,
    checkExecutions,
    checkStaleRefused,
    checkBatches,
    checkErrands,
    checkNothingLeft,
    checkRefusals,
  ].map((check) => check(evidence)),
  checkAnswers(evidence, isWhole),
  checkRepairs(evidence, isWhole),
  checkKills(evidence, isWhole),
];

/** I11: whoever is asked to end does so in time, PostgreSQL or not. */
function checkStops({ testimony }: Evidence, isStopped: boolean, stoppedInMs: number): Verdict {
  const longestMs = Math.max(stoppedInMs, ...testimony.drainedMs);
  return {
    invariant: 'I11 processes end on SIGTERM',
    held: isStopped && longestMs <= STOPS_WITHIN_MS,
    evidence: `${isStopped ? `${testimony.drainedMs.length} drained` : 'one did not drain'}, the slowest in ${inSeconds(longestMs, STOPS_WITHIN_MS)}`,
  };
}

/** How long it takes until every caller has been told an end and nothing is under way; as long as was waited when that does not come. */
async function allEnded(
  { postgres }: OrchestratorWorld,
  called: Promise<void>,
  withinMs: number,
): Promise<number> {
  const from = performance.now();
  const took = () => performance.now() - from;
  const isOver = new AbortController();
  const patience = wait(withinMs, { signal: isOver.signal }).catch(() => {});
  await Promise.race([called, patience]);
  isOver.abort();
  await asking(postgres.url, async (client) => {
    for (; took() < withinMs; await wait(LOOK_EVERY_MS)) {
      const { rows } = await client.query<{ count: number }>(OPEN);
      if (rows[0]?.count === 0) return;
    }
  });
  return took();
}

registerScenario({
  name: 'orchestrator-kills',
  what: 'orchestrator on PostgreSQL: 4 instances, 600 operations of every kind of route; instances killed -9 at each of 22 steps and at random, dismissed, frozen; PostgreSQL restarted, backends terminated, replies lost',
  run,
});
