import { amount, duration } from '../../show/amounts.js';
import { shellWord } from '../../show/shell-word.js';
import { things } from '../../show/shortened.js';
import type { HeldJob, Queues, ServerFacts } from '../facts.js';
import { type Finding, finding, type Level } from '../finding.js';
import { named } from './instances.js';
import { scaleCommand } from './scale-command.js';

const CHECK = 'case.idle-workers';

/** Somebody wanted it so, or it opens by itself. */
const EXPECTED = ['PAUSED', 'BACK_OFF'];

/** Jobs that wait. */
export const waitingJobs = ({ lane, ready, nonReady }: Queues): number => lane + ready + nonReady;

/**
 * Case 1: jobs wait, and no worker has one.
 * @param facts - the queues, and what the jobs that are first in line wait for.
 * @returns undefined when some work, or nothing waits.
 */
export function judgeIdleWorkers(
  facts: Pick<ServerFacts, 'queues' | 'held' | 'resources' | 'url' | 'hasKey'>,
): Finding | undefined {
  const { queues, held } = facts;
  if (queues.some((look) => look.inFlight > 0 || waitingJobs(look) === 0)) return undefined;
  const [, now] = queues;
  if (now.liveSlots === 0) return nobody(now, facts);
  const level = levelOf(held);
  return finding(level, CHECK, 'All workers are idle though jobs wait', {
    seen: `${countsOf(now)} ${held.map(toldOf).join(' ')}`.trim(),
    action: actionOf(facts),
  });
}

const countsOf = ({ lane, ready, nonReady, liveSlots, oldestWaitingMs }: Queues): string =>
  `${amount(lane)} wait for their turn, ${amount(ready)} are ready, ${amount(nonReady)} wait for a time; ${things(liveSlots, 'worker')} without a job; the first in line has waited ${duration(oldestWaitingMs)}.`;

const toldOf = ({ groupId, gates }: HeldJob): string =>
  `Group ${groupId}: ${gates.map(({ gate, detail }) => `${gate} (${detail})`).join(', ') || 'nothing holds it'}.`;

/** What an instance has unless told otherwise. */
const WORKERS = 10;

function nobody(now: Queues, facts: Pick<ServerFacts, 'url' | 'hasKey'>): Finding {
  return finding('failure', CHECK, 'Jobs wait and there are no workers', {
    seen: `${amount(waitingJobs(now))} jobs wait; no live instance has a worker.`,
    action: `Start one that runs jobs (MILLRACE_ROLE=worker millrace start), or scale those there are: ${scaleCommand(facts, WORKERS)}`,
  });
}

function levelOf(held: readonly HeldJob[]): Level {
  if (held.some(({ gates }) => gates.some(({ gate }) => gate === 'NO_PROCESSOR'))) return 'failure';
  const isExpected = ({ gates }: HeldJob) => EXPECTED.includes(gates[0]?.gate ?? '');
  return held.length > 0 && held.every(isExpected) ? 'note' : 'warning';
}

/** What to do, by what holds a job back. */
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

function actionOf({ held, resources }: Pick<ServerFacts, 'held' | 'resources'>): string {
  const slow = resources.filter(({ frozenForMs, limit }) => frozenForMs > 0 || limit !== null);
  const names = slow.length === 0 ? '' : ` (${named(slow.map(({ resource }) => resource))})`;
  const known = held.flatMap((one) => one.gates.flatMap(({ gate }) => ACTIONS[gate]?.(one, names) ?? []));
  const [first] = held;
  const look = first
    ? `Everything that holds it: millrace jobs explain ${shellWord(first.groupId)} ${shellWord(first.jobId)}`
    : 'Look at what waits: millrace groups list --status RUNNING';
  return [...new Set(known), look].join('. ');
}
