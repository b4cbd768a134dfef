import { WORKERS_MAX } from '@millrace/contract';
import { amount, duration, pluralize } from '../../show/amounts.js';
import { shellWord } from '../../show/text.js';
import type { HeldJob, Queues, ServerFacts } from '../facts.js';
import { type Finding, finding, type Level } from '../finding.js';
import { named } from './instances.js';

const IDLE_CHECK = 'case.idle-workers';

/** Gates that a user closed on purpose, or that open automatically. */
const EXPECTED = ['PAUSED', 'BACK_OFF'];

/** Counts the waiting jobs. */
export const waitingJobs = ({ lane, ready, nonReady }: Queues): number => lane + ready + nonReady;

/** Case 1: jobs wait and all workers are idle. Returns `undefined` if a worker is busy or no job waits. */
export function judgeIdleWorkers(
  facts: Pick<ServerFacts, 'queues' | 'held' | 'resources' | 'url' | 'hasKey'>,
): Finding | undefined {
  const { queues, held } = facts;
  if (queues.some((look) => look.inFlight > 0 || waitingJobs(look) === 0)) return undefined;
  const [, now] = queues;
  if (now.liveSlots === 0) return noWorkers(now, facts);
  const level = levelOf(held);
  return finding(level, IDLE_CHECK, 'All workers are idle though jobs wait', {
    seen: `${countsOf(now)} ${held.map(toldOf).join(' ')}`.trim(),
    action: idleAction(facts),
  });
}

const countsOf = ({ lane, ready, nonReady, liveSlots, oldestWaitingMs }: Queues): string =>
  `${amount(lane)} wait for their turn, ${amount(ready)} are ready, ${amount(nonReady)} wait for a time; ${pluralize(liveSlots, 'worker')} without a job; the first in line has waited ${duration(oldestWaitingMs)}.`;

const toldOf = ({ groupId, gates }: HeldJob): string =>
  `Group ${groupId}: ${gates.map(({ gate, detail }) => `${gate} (${detail})`).join(', ') || 'nothing holds it'}.`;

/** The default number of workers of an instance. */
const WORKERS = 10;

function noWorkers(now: Queues, facts: Pick<ServerFacts, 'url' | 'hasKey'>): Finding {
  return finding('failure', IDLE_CHECK, 'Jobs wait and there are no workers', {
    seen: `${amount(waitingJobs(now))} jobs wait; no live instance has a worker.`,
    action: `Start one that runs jobs (MILLRACE_ROLE=worker millrace start), or scale those there are: ${scaleCommand(facts, WORKERS)}`,
  });
}

function levelOf(held: readonly HeldJob[]): Level {
  if (held.some(({ gates }) => gates.some(({ gate }) => gate === 'NO_PROCESSOR'))) return 'failure';
  const isExpected = ({ gates }: HeldJob) => EXPECTED.includes(gates[0]?.gate ?? '');
  return held.length > 0 && held.every(isExpected) ? 'note' : 'warning';
}

/** The advice for each gate that holds a job. */
const ACTIONS: Readonly<Record<string, (held: HeldJob, slow: string) => string>> = {
  PAUSED: ({ groupId }) => `Resume it: millrace groups resume ${shellWord(groupId)}`,
  BACK_OFF: ({ groupId, jobId }) =>
    `It goes on by itself; why it was put off: millrace jobs show ${shellWord(groupId)} ${shellWord(jobId)}`,
  NO_PROCESSOR: ({ processorType }) =>
    `Start an instance whose application has the processor ${processorType} (millrace start --app), or look for a wrong name in processorType`,
  RESOURCE_FROZEN: (_, slow) => `The service that is called wants to be left alone${slow}: look at it`,
  RESOURCE_RATE: (_, slow) =>
    `The service that is called takes no more${slow}: look at it, or raise its rps (resources)`,
  GROUP_RATE: ({ groupId }) => `Raise its rate: millrace groups set ${shellWord(groupId)} --rps N`,
  GROUP_CAP: ({ groupId }) => `Raise its limit: millrace groups set ${shellWord(groupId)} --concurrency N`,
  GLOBAL_RATE: () => 'Raise bulk.backpressure.globalRps',
};

function idleAction({ held, resources }: Pick<ServerFacts, 'held' | 'resources'>): string {
  const slow = resources.filter(({ frozenForMs, limit }) => frozenForMs > 0 || limit !== null);
  const names = slow.length === 0 ? '' : ` (${named(slow.map(({ resource }) => resource))})`;
  const known = held.flatMap((one) => one.gates.flatMap(({ gate }) => ACTIONS[gate]?.(one, names) ?? []));
  const [first] = held;
  const look = first
    ? `Everything that holds it: millrace jobs explain ${shellWord(first.groupId)} ${shellWord(first.jobId)}`
    : 'Look at what waits: millrace groups list --status RUNNING';
  return [...new Set(known), look].join('. ');
}

/** The rates at which jobs arrive and start. */
export interface Load {
  /** Jobs submitted per second. */
  readonly arrivingPerSecond: number;
  /** Jobs started per second. */
  readonly startedPerSecond: number;
  /** The mean duration of a job. `undefined` if none started recently. */
  readonly meanSeconds: number | undefined;
}

/** Counts the jobs that only wait for a worker. */
const runnable = ({ lane, ready }: Pick<Queues, 'lane' | 'ready'>): number => lane + ready;

/** Computes the load. If all workers are busy, the mean duration is the number of running jobs divided by the start rate. */
function loadOf({ queues: [before, now], apartMs }: Pick<ServerFacts, 'queues' | 'apartMs'>): Load {
  const grownPerSecond = ((runnable(now) - runnable(before)) * 1000) / Math.max(1, apartMs);
  const startedPerSecond = now.startsPerSecond;
  return {
    startedPerSecond,
    arrivingPerSecond: Math.max(0, startedPerSecond + grownPerSecond),
    meanSeconds: startedPerSecond > 0 ? now.inFlight / startedPerSecond : undefined,
  };
}

/** Computes the workers needed for I/O-bound jobs: rate × mean seconds per job. Returns `undefined` if the mean is unknown. */
export const neededWorkers = ({ arrivingPerSecond, meanSeconds }: Load): number | undefined =>
  meanSeconds === undefined ? undefined : Math.max(1, Math.ceil(arrivingPerSecond * meanSeconds));

/** Case 2: all workers are busy and the queue grows. Returns `undefined` if a worker is free or the queue does not grow. */
export function judgeBusyWorkers(facts: ServerFacts): Finding | undefined {
  const { queues, apartMs } = facts;
  const [before, now] = queues;
  if (queues.some(({ liveSlots, waitingSlots }) => liveSlots === 0 || waitingSlots > 0)) return undefined;
  if (now.inFlight < now.liveSlots || runnable(now) <= runnable(before)) return undefined;
  // A burst of a few seconds is no trend. Compare with the minutes before if they are known.
  const minutesAgo = facts.points.find((point) => point.queues)?.queues;
  if (minutesAgo && runnable(now) <= runnable(minutesAgo)) return undefined;
  const load = loadOf(facts);
  return finding('warning', 'case.busy-workers', 'All workers are busy, and more comes than they can do', {
    seen: `${pluralize(now.liveSlots, 'worker')}; from ${amount(runnable(before))} to ${amount(runnable(now))} waiting jobs within ${duration(apartMs)}; ${amount(load.arrivingPerSecond)} jobs come and ${amount(load.startedPerSecond)} start a second, ${load.meanSeconds === undefined ? 'none has ended lately' : `each takes ${duration(load.meanSeconds * 1000)}`}.`,
    action: busyAction(facts, load),
  });
}

function busyAction(facts: ServerFacts, load: Load): string {
  const needed = neededWorkers(load);
  const timedOut = facts.points.some(({ jobs }) => jobs.timedOutPerSecond > 0);
  const [longest] = facts.running;
  const timeouts = timedOut
    ? ['Jobs time out: bring jobTimeoutMs down to slightly above the timeout of the service that is called']
    : [];
  const slow =
    needed === undefined && longest
      ? [
          `The jobs hang, more workers alone would hang too: ${longest.processorType} ${longest.groupId}/${longest.jobId} runs for ${duration(longest.runsForMs)}; look at what it calls, and set jobTimeoutMs to slightly above the timeout of that`,
        ]
      : [];
  const advice = [...slow, ...(needed === undefined ? [] : [scaling(facts, needed)]), ...timeouts];
  return advice.length > 0
    ? advice.join('. ')
    : 'Look at what they do: millrace groups list --status RUNNING';
}

function scaling(facts: ServerFacts, needed: number): string {
  const {
    instances,
    queues: [, now],
  } = facts;
  const hosts = Math.max(
    1,
    instances.filter(({ alive, workerCount }) => alive && workerCount !== null).length,
  );
  const all = Math.max(needed, now.liveSlots + 1);
  const each = Math.min(WORKERS_MAX, Math.ceil(all / hosts));
  return `Have ${amount(all)} workers (rate × seconds per job; not above what the called service takes at once, nor above the cores where jobs compute): at once, ${scaleCommand(facts, each)}; for good, bulk.workerPool.workerCount ${each} of each instance`;
}

/** Returns the command that scales every instance that runs jobs. It takes effect at once and lasts until a restart. */
function scaleCommand({ url, hasKey }: Pick<ServerFacts, 'url' | 'hasKey'>, workerCount: number): string {
  const key = hasKey ? ' -H "authorization: Bearer $MILLRACE_API_KEY"' : '';
  return `curl -X PATCH ${shellWord(`${url}/api/bulk/pool`)}${key} -H 'content-type: application/json' -d '{"workerCount":${workerCount}}'`;
}
