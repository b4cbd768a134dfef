import { amount, duration } from '../../show/amounts.js';
import type { HeldJob, Instance, ServerFacts } from '../facts.js';
import { type Finding, finding } from '../finding.js';
import { named } from './instances.js';

const CHECK = 'case.stopped-fetcher';

/** Nothing holds such a job but that nobody takes it, or those before it. */
const couldRun = ({ gates }: HeldJob): boolean => gates.every(({ gate }) => gate === 'TURN');

/** The first heartbeats of an instance come before its Fetcher runs. */
const SETTLED_MS = 10_000;

/**
 * Case 3: nobody moves jobs from the fair queue to ready, so workers run dry.
 * @param facts - the queues, the instances, what the jobs that are first in line wait for.
 * @returns undefined when jobs are moved, or nothing waits to be.
 */
export function judgeStoppedFetcher(
  facts: Pick<ServerFacts, 'queues' | 'instances' | 'held' | 'apartMs'>,
): Finding | undefined {
  const running = facts.instances.filter(({ alive, stopping, pool }) => alive && !stopping && pool);
  const stopped = running.filter((one) => one.pool?.fetcherRunning === false && hasSettled(one));
  if (stopped.length > 0)
    return finding('failure', CHECK, 'The Fetcher of an instance has stopped', {
      seen: `It does not run in ${named(stopped.map(({ instanceId }) => instanceId))}; ready drains, then its workers are idle.`,
      action:
        'Look for its last lines in the log of that instance (part bulk-action, Fetcher), then restart it: it gives its jobs back.',
    });
  if (!standsStill(facts)) return undefined;
  const [, { lane, waitingSlots }] = facts.queues;
  const bad = running.flatMap(({ instanceId, backends }) =>
    backends
      .filter(({ ok, name }) => !ok && name === 'redis')
      .map(({ message }) => `${instanceId}: ${message}`),
  );
  return finding('failure', CHECK, 'Nobody takes jobs out of the fair queue', {
    seen: `${amount(lane)} jobs could run and ${amount(waitingSlots)} workers wait for them, but none was made ready within ${duration(facts.apartMs)}.${bad.length > 0 ? ` Redis, as instances see it: ${named(bad)}.` : ''}`,
    action:
      "Look for 'Fetcher failed and goes on' in the logs of the instances that run jobs, and at their connection to the store (Redis: INFO clients, SLOWLOG GET); a restart of the instance gives its jobs back.",
  });
}

const hasSettled = ({ startedAt, seenAt }: Instance): boolean =>
  Date.parse(seenAt) - Date.parse(startedAt) >= SETTLED_MS;

const standsStill = ({ queues, held }: Pick<ServerFacts, 'queues' | 'held'>): boolean =>
  queues.every(
    ({ lane, ready, inFlight, waitingSlots }) =>
      lane > 0 && ready === 0 && inFlight === 0 && waitingSlots > 0,
  ) &&
  queues[1].lane >= queues[0].lane &&
  held.some(couldRun);
