import { hasEnded } from '@millrace/bulk-action';
import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { jobsByName } from './plan.js';
import { isFinal } from './tries.js';

/**
 * I1: what was acknowledged reached its one end, the one that was planned, and its effect is in the ledger.
 */
export function checkNoLoss({ plan, testimony, jobs, deadLetters }: Evidence): Verdict {
  const planned = jobsByName(plan);
  const done = new Set(testimony.tries.filter(({ how }) => how === 'done').map(({ job }) => job));
  const wrong: string[] = [];
  for (const name of testimony.acknowledged) {
    const [expected, job] = [planned.get(name), jobs.get(name)];
    if (!job) wrong.push(`${name} is gone`);
    else if (job.status !== expected?.ends) {
      const why = job.failedTries.map(({ code }) => code).join(' ');
      wrong.push(`${name} is ${job.status} in ${job.place}, not ${expected?.ends} (${why})`);
    } else if (job.status === 'COMPLETED' && !done.has(name)) wrong.push(`${name} completed and never ran`);
    else if (deadLetters.has(name) !== expected.dead) wrong.push(`${name} as dead letter: ${!expected.dead}`);
  }
  for (const name of jobs.keys())
    if (!testimony.acknowledged.has(name)) wrong.push(`${name}: nobody asked for it`);
  return {
    invariant: 'I1 no loss',
    held: wrong.length === 0 && testimony.acknowledged.size > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${testimony.acknowledged.size} acknowledged, each ended as planned`,
  };
}

/** I2 and I14: every job is counted once; counters, results and settlements say the same. */
export function checkCountedOnce({ testimony, jobs, groups, results }: Evidence): Verdict {
  const wrong: string[] = [];
  const finals = new Map<string, number>();
  for (const { job } of testimony.settled.filter(isFinal)) finals.set(job, (finals.get(job) ?? 0) + 1);
  for (const [job, times] of finals) if (times > 1) wrong.push(`${job} was accepted for good ${times} times`);
  const sums = { success: 0, failed: 0 };
  for (const { id, counts, status } of groups) {
    const listed = [...jobs].filter(([name]) => name.startsWith(`${id}#`)).map(([, job]) => job.status);
    const success = listed.filter((each) => each === 'COMPLETED').length;
    const failed = listed.filter((each) => each === 'FAILED').length;
    const result = results.get(id);
    const agree =
      counts.success === success &&
      counts.failed === failed &&
      counts.registered === listed.length &&
      result?.success === success &&
      result.failed === failed &&
      result.total === listed.length &&
      hasEnded(status);
    if (!agree)
      wrong.push(`${id} (${status}) counts ${JSON.stringify(counts)}, result ${JSON.stringify(result)}`);
    sums.success += counts.success;
    sums.failed += counts.failed;
  }
  return {
    invariant: 'I2 counted exactly once',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${sums.success} + ${sums.failed} counted, as jobs, results and settlements say`,
  };
}

/** I8: nothing is left in a queue or under a lease, and no counter says otherwise. */
export function checkNothingLeft({ groups, queues }: Evidence): Verdict {
  const { lane, ready, nonReady, inFlight } = queues;
  const open = groups.filter(
    ({ counts }) => counts.pending + counts.inFlight + counts.nonReady + counts.ready + counts.cancelled > 0,
  );
  return {
    invariant: 'I8 nothing left in flight',
    held: lane + ready + nonReady + inFlight + open.length === 0,
    evidence: `lane ${lane}, ready ${ready}, non-ready ${nonReady}, in flight ${inFlight}, open groups ${open.length}`,
  };
}
