import { amount, duration } from '../../show/amounts.js';
import type { Instance, RunningJob, ServerFacts } from '../facts.js';
import { type Finding, finding } from '../finding.js';
import { named } from './instances.js';

const CHECK = 'case.slow-shutdown';

/** What the rule looks at. */
export type ShutdownFacts = Pick<ServerFacts, 'instances' | 'running' | 'nowMs'>;

/**
 * Case 6: an instance does not end within its grace period, or would not.
 * @returns undefined when all of them end in time.
 */
export function judgeSlowShutdown(facts: ShutdownFacts): Finding | undefined {
  return judgePast(facts) ?? judgeKilled(facts) ?? judgeAhead(facts);
}

const jobOf = ({ processorType, groupId, jobId, runsForMs }: RunningJob): string =>
  `${processorType} ${groupId}/${jobId} (${duration(runsForMs)})`;

const longest = (running: readonly RunningJob[]): string =>
  running.length === 0 ? '' : ` The jobs that run longest: ${named(running.map(jobOf))}.`;

const ADVICE =
  'Let these jobs end sooner (jobTimeoutMs slightly above the timeout of the service that is called; heed context.signal), or raise MILLRACE_GRACE_PERIOD_MS, and terminationGracePeriodSeconds of Kubernetes above it.';

function judgePast({ instances, running, nowMs }: ShutdownFacts): Finding | undefined {
  const late = instances.filter(
    (one) => one.alive && one.gracePeriodMs !== null && stoppingForMs(one, nowMs) > one.gracePeriodMs,
  );
  const [first] = late;
  if (!first) return undefined;
  const { instanceId, gracePeriodMs, busy, pool, pid, host } = first;
  return finding('failure', CHECK, 'An instance has not ended within its grace period', {
    seen: `${instanceId} has been stopping for ${duration(stoppingForMs(first, nowMs))}; gracePeriodMs is ${amount(gracePeriodMs)}${pool ? `, jobTimeoutMs ${amount(pool.jobTimeoutMs)}` : ''}. It still has ${amount(busy.jobs)} jobs, ${amount(busy.tasks)} tasks, ${amount(busy.requests)} requests.${longest(running)}`,
    action: `Its work is taken over when its leases expire: end it (kill -9 ${pid} on ${host}). ${ADVICE}`,
  });
}

function judgeKilled({ instances }: ShutdownFacts): Finding | undefined {
  const killed = instances.filter(({ alive, stopping }) => !alive && stopping);
  if (killed.length === 0) return undefined;
  const names = killed.map(
    ({ instanceId, busy }) => `${instanceId} (with ${amount(busy.jobs)} jobs, ${amount(busy.tasks)} tasks)`,
  );
  return finding('warning', CHECK, 'An instance was killed while it was about to stop', {
    seen: `${named(names)}: it had not ended, or whoever started it waited for less than its grace period.`,
    action: `Give it the time: terminationGracePeriodSeconds of Kubernetes (or TimeoutStopSec of systemd) above gracePeriodMs. ${ADVICE}`,
  });
}

function judgeAhead({ instances, running }: ShutdownFacts): Finding | undefined {
  const periods = instances.flatMap(({ alive, gracePeriodMs }) =>
    alive && gracePeriodMs !== null ? [gracePeriodMs] : [],
  );
  const shortest = Math.min(...periods);
  const long = running.filter(({ runsForMs }) => runsForMs > shortest);
  if (long.length === 0) return undefined;
  return finding('note', CHECK, 'Jobs run for longer than a stop would wait for them', {
    seen: `${named(long.map(jobOf))}; gracePeriodMs is ${amount(shortest)}. At a stop they are given back and begin again elsewhere.`,
    action: ADVICE,
  });
}

const stoppingForMs = ({ stoppingSince }: Instance, nowMs: number): number =>
  stoppingSince === null ? 0 : nowMs - Date.parse(stoppingSince);
