import { wait } from '@millrace/async-utils';
import { readLedger } from '@millrace/testkit/ledger';
import { checkEndedOnce, checkNoLoss, checkNothingLeft, checkRefusals } from '../outbox/check-batches.js';
import { checkOneRowEach, checkOrder, checkRuns, checkStaleRefused } from '../outbox/check-effects.js';
import { checkEnds, checkRecords } from '../outbox/check-ends.js';
import { checkFeatures } from '../outbox/check-features.js';
import { type Evidence, gatherEvidence } from '../outbox/evidence.js';
import { Faults } from '../outbox/faults.js';
import { drawPlan, type Plan, storied, wanted } from '../outbox/plan.js';
import { outboxScale } from '../outbox/settings.js';
import { checkCounts, watchCounts } from '../outbox/watch-counts.js';
import { type OutboxWorld, openOutboxWorld } from '../outbox/world.js';
import { asking } from '../postgres.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

/** What is late is waited for, so that the verdict can say how late. */
const PATIENCE = 2;

/** How often it is asked whether all has ended: the ledger is long by then. */
const LOOK_EVERY_MS = 200;

/** Idle processes: nothing has to be waited for. */
const STOPS_WITHIN_MS = 5000;

const inSeconds = (ms: number, withinMs: number): string =>
  `${(ms / 1000).toFixed(1)} s of ${withinMs / 1000} s`;

const ENDED = `
  SELECT count(*)::int AS count FROM millrace.batch_instance b
  WHERE status <> 'RUNNING' AND NOT EXISTS (SELECT FROM millrace.outbox_tick t WHERE t.batch_id = b.id)`;

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const scale = outboxScale(context.scale);
  const plan = drawPlan(context.rng.fork('plan'), scale.size);
  await using world = await openOutboxWorld(context, plan, scale);
  const { pollers, pushers, postgres, ledgerPath } = world;
  const faults = new Faults(world, context.rng.fork('faults'), scale);
  const isOver = new AbortController();
  const watching = watchCounts(postgres.url, isOver.signal);
  await faults.strike(scale.size.arrivalMs);
  const doneInMs = await allEnded(world, plan, PATIENCE * scale.doneWithinMs);
  isOver.abort();
  const counts = await watching;
  await Promise.all([pollers.everyoneUp(), pushers.everyoneUp()]);
  const stopping = performance.now();
  const stopped = await Promise.all([pollers.stop(), pushers.stop()]);
  const stoppedInMs = performance.now() - stopping;
  const evidence = await gatherEvidence(plan, { url: postgres.url, ledgerPath });
  return [
    ...checkAll(evidence),
    checkCounts(counts),
    {
      invariant: 'I10 done after the last fault',
      held: doneInMs <= scale.doneWithinMs,
      evidence: inSeconds(doneInMs, scale.doneWithinMs),
    },
    {
      invariant: 'I11 processes end on SIGTERM',
      held: stopped.every(Boolean) && stoppedInMs <= STOPS_WITHIN_MS,
      evidence: `${stopped.every(Boolean) ? 'all drained' : 'one did not drain'} in ${inSeconds(stoppedInMs, STOPS_WITHIN_MS)}`,
    },
    checkFaults({ ...faults.tally, ...evidence.testimony.exits }),
  ];
}

/** Everything that must hold, whatever was done. */
const checkAll = (evidence: Evidence): Verdict[] =>
  [
    checkOneRowEach,
    checkNoLoss,
    checkEnds,
    checkRecords,
    checkEndedOnce,
    checkRuns,
    checkStaleRefused,
    checkNothingLeft,
    checkOrder,
    checkRefusals,
    checkFeatures,
  ].map((check) => check(evidence));

/**
 * How long it takes until every batch has ended, and nobody is left to abort or retry one; as long as was waited when that does not
 * come.
 */
async function allEnded(
  { postgres, ledgerPath }: OutboxWorld,
  plan: Plan,
  withinMs: number,
): Promise<number> {
  const from = performance.now();
  const took = () => performance.now() - from;
  await asking(postgres.url, async (client) => {
    for (; took() < withinMs; await wait(LOOK_EVERY_MS)) {
      if (!isSettled(plan, ledgerPath)) continue;
      const { rows } = await client.query<{ count: number }>(ENDED);
      if (rows[0]?.count === wanted(plan).length) return;
    }
  });
  return took();
}

function isSettled(plan: Plan, ledgerPath: string): boolean {
  const settled = readLedger(ledgerPath).filter(({ kind }) => kind === 'settled');
  const keys = new Set(settled.map(({ batch }) => batch));
  return storied(plan).every(({ bizKey }) => keys.has(bizKey));
}

/** A fault that never happened proves nothing. */
function checkFaults(times: Readonly<Record<string, number>>): Verdict {
  const expected = { 'exits-within': 0, 'exits-after': 0, ...times };
  return {
    invariant: 'every fault happened',
    held: Object.values(expected).every((count) => count > 0),
    evidence: Object.entries(expected)
      .map(([fault, count]) => `${fault} × ${count}`)
      .join(', '),
  };
}

registerScenario({
  name: 'outbox-exactly-once',
  what: 'outbox on PostgreSQL: 8 pollers, 2,000 tasks of every join, policy and condition, some aborted or retried; processes killed -9 each second or frozen, PostgreSQL restarted, backends terminated',
  run,
});
