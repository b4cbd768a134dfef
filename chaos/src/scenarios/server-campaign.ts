import { wait } from '@millrace/async-utils';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';
import { Callers } from '../server/callers.js';
import { checkNoLoss, checkOneOutcome, checkTotals } from '../server/check-campaigns.js';
import {
  checkExecutions,
  checkNothingLeft,
  checkOneGroupPerStep,
  checkOtherDoor,
} from '../server/check-runs.js';
import { countOpen, gatherServerEvidence } from '../server/evidence.js';
import { ServerFaults } from '../server/faults.js';
import { drawCampaigns } from '../server/plan.js';
import { GRACE_MS, serverScale } from '../server/settings.js';
import { openServerWorld, type ServerWorld } from '../server/world.js';

/** What is late is waited for, so that the verdict can say how late. */
const PATIENCE = 2;

/** How often it is asked whether all has ended. */
const LOOK_EVERY_MS = 100;

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const scale = serverScale(context.scale);
  const campaigns = drawCampaigns(context.rng.fork('plan'), scale);
  await using world = await openServerWorld(context, scale);
  const callers = new Callers(world, context.rng.fork('callers'));
  const faults = new ServerFaults(world, context.rng.fork('faults'), scale);
  const called = callers.run(campaigns);
  await faults.strike();
  const doneInMs = await allEnded(world, called, PATIENCE * scale.doneWithinMs);
  await callers.lookAround();
  callers.giveUp();
  await called;
  const stopping = performance.now();
  const stops = await Promise.all(world.places.map(({ crew }) => crew.stop()));
  const stoppedInMs = performance.now() - stopping;
  const evidence = await gatherServerEvidence(world, campaigns);
  return [
    ...[checkNoLoss, checkOneOutcome, checkTotals, checkExecutions].map((check) => check(evidence)),
    checkOneGroupPerStep(evidence),
    checkOtherDoor(evidence),
    checkNothingLeft(evidence),
    {
      invariant: 'I10 done after the last fault',
      held: doneInMs <= scale.doneWithinMs,
      evidence: `${(doneInMs / 1000).toFixed(1)} s of ${scale.doneWithinMs / 1000} s`,
    },
    {
      invariant: 'I11 shutdown ends in time',
      held: stops.every((ended) => ended) && stoppedInMs <= GRACE_MS,
      evidence: `${stops.filter((ended) => ended).length} of ${stops.length} ended, in ${(stoppedInMs / 1000).toFixed(1)} s`,
    },
    {
      invariant: 'every fault happened',
      held: faults.kills.size >= scale.victimsMin && faults.lostReplies > 0,
      evidence: `${[...faults.kills].map(([name, count]) => `${name} killed ${count}×`).join(', ')}, ${faults.lostReplies} replies lost`,
    },
  ];
}

/** How long it takes until nothing is open any more and every caller knows. */
async function allEnded(world: ServerWorld, called: Promise<void>, patienceMs: number): Promise<number> {
  const from = performance.now();
  const passedMs = () => performance.now() - from;
  let isAnswered = false;
  called.then(
    () => {
      isAnswered = true;
    },
    () => {},
  );
  while (passedMs() < patienceMs) {
    const { operations, batches } = await countOpen(world);
    if (isAnswered && operations === 0 && batches === 0) break;
    await wait(LOOK_EVERY_MS);
  }
  return passedMs();
}

registerScenario({
  name: 'server-campaign',
  what: 'the campaign example on 2 API and 2 worker processes: any one of them killed at a time, replies lost',
  run,
});
