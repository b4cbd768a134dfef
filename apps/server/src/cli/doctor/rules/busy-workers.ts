import { WORKERS_MAX } from '@millrace/contract';
import { amount, duration } from '../../show/amounts.js';
import { things } from '../../show/shortened.js';
import type { Queues, ServerFacts } from '../facts.js';
import { type Finding, finding } from '../finding.js';
import { scaleCommand } from './scale-command.js';

/** Jobs that come and go. */
export interface Load {
  /** Jobs that are handed in, per second. */
  readonly arrivingPerSecond: number;
  /** Jobs that are started, per second. */
  readonly startedPerSecond: number;
  /** How long one takes, on the average; undefined: none has been started lately. */
  readonly meanSeconds: number | undefined;
}

/** Jobs that could run, and do not. */
const runnable = ({ lane, ready }: Pick<Queues, 'lane' | 'ready'>): number => lane + ready;

/**
 * How much work comes, and how long it takes: with all workers busy each second of theirs is spent on a job, so the mean follows from
 * how many are started.
 */
function loadOf({ queues: [before, now], apartMs }: Pick<ServerFacts, 'queues' | 'apartMs'>): Load {
  const grownPerSecond = ((runnable(now) - runnable(before)) * 1000) / Math.max(1, apartMs);
  const startedPerSecond = now.startsPerSecond;
  return {
    startedPerSecond,
    arrivingPerSecond: Math.max(0, startedPerSecond + grownPerSecond),
    meanSeconds: startedPerSecond > 0 ? now.inFlight / startedPerSecond : undefined,
  };
}

/**
 * How many workers are needed for work that waits for others: rate × mean seconds per job.
 * @returns undefined when nobody can say how long a job takes.
 */
export const neededWorkers = ({ arrivingPerSecond, meanSeconds }: Load): number | undefined =>
  meanSeconds === undefined ? undefined : Math.max(1, Math.ceil(arrivingPerSecond * meanSeconds));

/**
 * Case 2: every worker has a job, and more come than they can do.
 * @param facts - two looks at the queues, the last minutes, what runs.
 * @returns undefined when a worker is free, or what waits does not grow.
 */
export function judgeBusyWorkers(facts: ServerFacts): Finding | undefined {
  const { queues, apartMs } = facts;
  const [before, now] = queues;
  if (queues.some(({ liveSlots, waitingSlots }) => liveSlots === 0 || waitingSlots > 0)) return undefined;
  if (now.inFlight < now.liveSlots || runnable(now) <= runnable(before)) return undefined;
  // A burst of the last seconds is no trend where the minutes before are known.
  const minutesAgo = facts.points.find((point) => point.queues)?.queues;
  if (minutesAgo && runnable(now) <= runnable(minutesAgo)) return undefined;
  const load = loadOf(facts);
  return finding('warning', 'case.busy-workers', 'All workers are busy, and more comes than they can do', {
    seen: `${things(now.liveSlots, 'worker')}; from ${amount(runnable(before))} to ${amount(runnable(now))} waiting jobs within ${duration(apartMs)}; ${amount(load.arrivingPerSecond)} jobs come and ${amount(load.startedPerSecond)} start a second, ${load.meanSeconds === undefined ? 'none has ended lately' : `each takes ${duration(load.meanSeconds * 1000)}`}.`,
    action: actionOf(facts, load),
  });
}

function actionOf(facts: ServerFacts, load: Load): string {
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
