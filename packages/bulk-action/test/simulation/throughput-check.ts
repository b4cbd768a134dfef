import type { BackpressureConfig } from '../../src/config-sections.js';
import { COMMON_TYPE, type JobScript } from './processors.js';
import type { PlannedGroup } from './scenario.js';
import type { World } from './world.js';

/** Long beside the network, so that what is measured is how many work and not how far they are. */
const JOB_MS = 1000;
const ROUNDS = 5;
/** The first jobs find idle workers by a poll at worst. */
const START_MAX_MS = 5000;
const LEAST_SHARE = 0.9;
/** A learnt rate grows only while it is used: so long it is used before the workers are judged. */
const RECOVERY_ROUNDS = 20;

/** A group of easy work that nothing but the workers and the engine's own limit holds back. */
function easyGroup(id: string, jobs: number): PlannedGroup {
  const payload: JobScript = { tries: ['succeeds'], ms: JOB_MS };
  return {
    group: { id, tenantId: id },
    jobs: Array.from({ length: jobs }, (_, index) => ({
      id: `p${index}`,
      processorType: COMMON_TYPE,
      payload,
    })),
    atMs: 0,
    batches: 1,
    squeezed: false,
  };
}

/**
 * I10: after the last fault every worker works again: easy work goes at 90 % of what they can do, with no restart. A service
 * that has refused work is a fault too, and it is over when work goes through again.
 */
export async function checkThroughput(world: World): Promise<void> {
  const { scheduler, ledger, violations, scenario, instances, store } = world;
  // The last answers that a fault has delayed arrive, and the last event loop goes on.
  const { ackTimeoutMs } = scenario.config.reliableQueue;
  const frozen = [...instances].map(({ process }) => process.frozenUntil);
  await scheduler.run(() => false, Math.max(scheduler.time + 2 * ackTimeoutMs, ...frozen));
  const slots = instances.size * scenario.workers;
  const { congestionRates } = await store.views.queues();
  if (Object.keys(congestionRates).length > 0)
    await runToEnd(world, easyGroup('recovery', RECOVERY_ROUNDS * slots), RECOVERY_ROUNDS);
  const planned = easyGroup('probe', ROUNDS * slots);
  const end = await runToEnd(world, planned, ROUNDS);
  const runs = ledger.entries.filter(({ job }) => job.startsWith('probe#'));
  const tookMs = Math.max(...runs.map((run) => run.end ?? end)) - Math.min(...runs.map(({ at }) => at));
  const idealMs = idealTime(planned.jobs.length, slots, scenario.config.backpressure);
  violations.check(
    runs.length === planned.jobs.length && idealMs / tookMs >= LEAST_SHARE,
    'I10',
    () =>
      `${runs.length} of ${planned.jobs.length} easy jobs on ${slots} slots took ${tookMs} ms, not ${idealMs}`,
  );
}

/** Submits a group and waits for it for ten times as long as so many rounds take; says until when. */
async function runToEnd(world: World, planned: PlannedGroup, rounds: number): Promise<number> {
  const { scheduler, client, audit } = world;
  void client.submit(planned);
  const end = scheduler.time + START_MAX_MS + 10 * rounds * JOB_MS;
  await scheduler.run(() => client.busy === 0, end);
  while (scheduler.time < end && (await audit.open()).length > 0)
    await scheduler.run(() => false, scheduler.time + JOB_MS);
  return end;
}

/** Each job starts when a slot is free and its token is there; the bucket is full at first. */
function idealTime(
  jobs: number,
  slots: number,
  { globalRps, burst = Math.max(1, Math.floor(globalRps / 10)) }: BackpressureConfig,
): number {
  const ends: number[] = [];
  for (let job = 0; job < jobs; job++) {
    const tokenMs = globalRps > 0 ? (Math.max(0, job + 1 - burst) * 1000) / globalRps : 0;
    ends.push(Math.max(tokenMs, ends[job - slots] ?? 0) + JOB_MS);
  }
  return ends.at(-1) ?? 0;
}
