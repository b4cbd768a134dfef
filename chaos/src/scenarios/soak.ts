import { readLedger, until } from '@millrace/testkit';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';
import { countOpen } from '../server/evidence.js';
import { SoakCallers } from '../soak/callers.js';
import { checkSoakLoss, checkSoakTotals } from '../soak/check-groups.js';
import { checkMemory, checkThroughput } from '../soak/check-samples.js';
import { SOAK_FAULTS, SoakFaults } from '../soak/faults.js';
import { LedgerTail } from '../soak/ledger-tail.js';
import { Sampler } from '../soak/samples.js';
import { SOAK_GRACE_MS, type SoakScale, soakScale } from '../soak/settings.js';
import { openSoakWorld, type SoakWorld } from '../soak/world.js';
import { writeSamples } from '../soak/write-samples.js';

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const scale = soakScale(context.scale);
  await using world = await openSoakWorld(context, scale);
  const tail = new LedgerTail(world.ledgerPath, ['paid', 'refused']);
  await using sampler = new Sampler(world, () => tail.count());
  const callers = new SoakCallers(world.doors, context.rng.fork('callers'), scale);
  const faults = new SoakFaults(world, context.rng.fork('faults'), scale);
  sampler.start(scale.sampleEveryMs);
  const over = new AbortController();
  const called = callers.run(over.signal);
  await faults.strike();
  over.abort();
  await called;
  await sampler.stop();
  tail.close();
  const left = await nothingLeft(world, callers, scale);
  const stopping = performance.now();
  const stops = await Promise.all(world.places.map(({ crew }) => crew.stop()));
  const stoppedInMs = performance.now() - stopping;
  const { samples } = sampler;
  const folder = writeSamples(samples, `soak of ${(scale.durationMs / 60_000).toFixed(1)} minutes`);
  const evidence = { groups: callers.groups, ledger: readLedger(world.ledgerPath) };
  return [
    checkSoakLoss(evidence),
    checkSoakTotals(evidence),
    left,
    checkMemory(samples, scale),
    checkThroughput(samples, scale),
    {
      invariant: 'I11 shutdown ends in time',
      held: stops.every((ended) => ended) && stoppedInMs <= SOAK_GRACE_MS,
      evidence: `${stops.filter((ended) => ended).length} of ${stops.length} ended, in ${(stoppedInMs / 1000).toFixed(1)} s`,
    },
    {
      invariant: 'every fault happened',
      held: faults.happened.size === SOAK_FAULTS.length && callers.demos > 0,
      evidence: `${[...faults.happened].map(([name, count]) => `${name} ${count}×`).join(', ')}; ${callers.demos} demos; samples in ${folder}`,
    },
  ];
}

/** Ends the demo and waits until everything else has ended by itself. */
async function nothingLeft(world: SoakWorld, callers: SoakCallers, scale: SoakScale): Promise<Verdict> {
  const began = performance.now();
  await callers.endDemo();
  await callers.allKnown(scale.doneWithinMs);
  let last = 'nobody answered';
  const isEmpty = async () => {
    const response = await fetch(`${world.doors[0]}/api/bulk/queues`);
    const { lane, ready, nonReady, inFlight } = (await response.json()) as Record<string, number>;
    const queued = [lane, ready, nonReady, inFlight].map(Number);
    const { operations, batches } = await countOpen(world);
    last = `${queued.join(' + ')} jobs, ${operations} operations, ${batches} batches`;
    return queued.every((count) => count === 0) && operations === 0 && batches === 0;
  };
  const deadlineMs = Math.max(1000, scale.doneWithinMs - (performance.now() - began));
  const held = await until(isEmpty, { what: 'everything to end', deadlineMs, intervalMs: 100 }).catch(
    () => false,
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return {
    invariant: 'I10 nothing left after the last fault',
    held,
    evidence: held ? `${last} after ${seconds} s` : `${last}; ${world.lastWords().slice(-600)}`,
  };
}

registerScenario({
  name: 'soak',
  what: 'half an hour of the demo and of payments on 2 API and 2 worker processes, a fault every few seconds: memory and throughput stay flat',
  run,
});
