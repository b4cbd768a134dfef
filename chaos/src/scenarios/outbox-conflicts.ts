import { readLedger } from '@millrace/testkit/ledger';
import { checkAccounts } from '../outbox/accounts.js';
import { allEnded } from '../outbox/all-ended.js';
import { checkEndedOnce, checkNoLoss, checkNothingLeft, checkRefusals } from '../outbox/check-batches.js';
import { checkOneRowEach, checkOrder, checkRuns } from '../outbox/check-effects.js';
import { checkEnds, checkRecords } from '../outbox/check-ends.js';
import { drawConflictPlan, wholePlan } from '../outbox/conflict-plan.js';
import { conflictScale } from '../outbox/conflict-settings.js';
import { type ConflictWorld, openConflictWorld } from '../outbox/conflict-world.js';
import { Conflicts, checkConflictsFree, checkConflictsHappened } from '../outbox/conflicts.js';
import { type Evidence, gatherEvidence } from '../outbox/evidence.js';
import { checkCrossed } from '../outbox/interleave.js';
import { checkPickedUp, hintsLost } from '../outbox/lost-hints.js';
import { wanted } from '../outbox/plan.js';
import { checkLiveness, measure } from '../outbox/throughput.js';
import { checkCounts, watchCounts } from '../outbox/watch-counts.js';
import { asking } from '../postgres.js';
import { measureRecovery } from '../recovery.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

/** What is late is waited for, so that the verdict can say how late. */
const PATIENCE = 2;

/** Idle processes: nothing has to be waited for. */
const STOPS_WITHIN_MS = 5000;

const inSeconds = (ms: number, withinMs: number): string =>
  `${(ms / 1000).toFixed(1)} s of ${withinMs / 1000} s`;

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const scale = conflictScale(context.scale);
  const drawn = drawConflictPlan(context.rng.fork('plan'), scale.size);
  await using world = await openConflictWorld(context, drawn.pushed, scale);
  const { postgres, own, ledgerPath } = world;
  const probe = (bizKey: string) => measure(bizKey, own, ledgerPath);
  const before = await probe('before');
  await world.startPushing();
  const isOver = new AbortController();
  const watching = watchCounts(postgres.url, isOver.signal);
  const conflicts = new Conflicts(world, context.rng.fork('conflicts'), scale);
  await conflicts.strike(drawn.pairs);
  const asked = wanted(wholePlan(drawn, [before.batch]));
  const doneInMs = await allEnded(postgres.url, asked.length, PATIENCE * scale.doneWithinMs);
  isOver.abort();
  const counts = await watching;
  const recovery = await measureRecovery(before, probe);
  const deaths = world.crews.reduce((sum, crew) => sum + crew.deaths, 0);
  const stopped = await stopAll(world);
  const plan = wholePlan(
    drawn,
    recovery.probes.map(({ batch }) => batch),
  );
  const evidence = await gatherEvidence(plan, { url: postgres.url, ledgerPath });
  const entries = readLedger(ledgerPath);
  return [
    ...checkAll(evidence),
    checkAccounts(evidence, await accountsNow(postgres.url)),
    checkConflictsFree(evidence, entries),
    checkCrossed(evidence, entries, drawn.pairs),
    checkPickedUp(entries, await hintsLost(postgres.url)),
    checkCounts(counts),
    {
      invariant: 'done after the last fault',
      held: doneInMs <= scale.doneWithinMs,
      evidence: inSeconds(doneInMs, scale.doneWithinMs),
    },
    checkLiveness(recovery, deaths),
    stopped,
    checkConflictsHappened(conflicts.tally, evidence, entries),
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
    checkNothingLeft,
    checkOrder,
    checkRefusals,
  ].map((check) => check(evidence));

async function stopAll({ crews }: ConflictWorld): Promise<Verdict> {
  const from = performance.now();
  const stopped = await Promise.all(crews.map((crew) => crew.stop()));
  const tookMs = performance.now() - from;
  const isDrained = stopped.every(Boolean);
  return {
    invariant: 'I11 processes end on SIGTERM',
    held: isDrained && tookMs <= STOPS_WITHIN_MS,
    evidence: `${isDrained ? 'all drained' : 'one did not drain'} in ${inSeconds(tookMs, STOPS_WITHIN_MS)}`,
  };
}

const accountsNow = (url: string): Promise<ReadonlyMap<string, number>> =>
  asking(url, async (client) => {
    const { rows } = await client.query<{ name: string; changes: number }>(
      'SELECT name, changes FROM account',
    );
    return new Map(rows.map(({ name, changes }) => [name, changes]));
  });

registerScenario({
  name: 'outbox-conflicts',
  what: 'outbox on PostgreSQL: 6 pollers, 1,200 tasks; handlers deadlock with each other and an outside client, SERIALIZABLE ones fail, NOTIFY is lost, PostgreSQL is frozen, a lower id commits later',
  run,
});
