import type { ResponseOf } from '@millrace/contract/server-client';
import { counted } from './amounts.js';
import { reasonText } from './job-waits.js';
import { durationText } from './times.js';
import { statusText, type Tone, toneOf } from './tones.js';

/** Why a job does not run. */
export type Explanation = ResponseOf<'explainJob'>;
type Gate = Explanation['gates'][number];

/** A gate in words for people. */
export interface GateText {
  readonly name: string;
  /** What opens it. */
  readonly advice: string;
  readonly tone: Tone;
}

/** See packages/bulk-action/src/rules/explain.ts, in the same order. */
const GATES: Readonly<Record<string, GateText>> = {
  DONE: { name: 'It has ended', advice: 'Nothing holds it, and nothing will start it.', tone: 'ok' },
  RUNNING: { name: 'It runs now', advice: 'Nothing holds it.', tone: 'run' },
  PAUSED: {
    name: 'Its group is paused',
    advice: 'None of its jobs starts before somebody resumes it.',
    tone: 'hold',
  },
  BACK_OFF: {
    name: 'It waits for a time',
    advice: 'It goes on by itself when the time has come.',
    tone: 'wait',
  },
  NO_PROCESSOR: {
    name: 'Nobody can run it',
    advice: 'Start a worker that has this processor, or submit the job with another type.',
    tone: 'fail',
  },
  GROUP_FROZEN: {
    name: 'A service wants a rest from this group',
    advice: 'It goes on by itself; other groups may call the service.',
    tone: 'hold',
  },
  RESOURCE_FROZEN: {
    name: 'A service wants a rest',
    advice: 'It goes on by itself when the service may be called again.',
    tone: 'hold',
  },
  GROUP_CAP: {
    name: 'Its group runs as many as it may',
    advice: 'It goes on when one of them ends. Raise the concurrency of the group to run more at once.',
    tone: 'hold',
  },
  TENANT_CAP: {
    name: 'Its tenant runs as many as it may',
    advice: 'It goes on when one of them ends. Raise the concurrency of the tenant to run more at once.',
    tone: 'hold',
  },
  RESOURCE_CAP: {
    name: 'The service takes no more calls at once',
    advice: 'It goes on when one of the calls ends.',
    tone: 'hold',
  },
  MAX_SHARE: {
    name: 'Its group has its largest share',
    advice: 'Groups with fewer running jobs go first; it goes on when one of its jobs ends.',
    tone: 'hold',
  },
  GROUP_RATE: {
    name: 'Its group starts as many a second as it may',
    advice: 'It goes on by itself. Raise the rate of the group to start more.',
    tone: 'hold',
  },
  GROUP_SLOWED: {
    name: 'A service has refused calls of this group',
    advice: 'They are made slowly now, and faster again by themselves.',
    tone: 'hold',
  },
  TENANT_RATE: {
    name: 'Its tenant starts as many a second as it may',
    advice: 'It goes on by itself. Raise the rate of the tenant to start more.',
    tone: 'hold',
  },
  RESOURCE_RATE: {
    name: 'The service is called as often as it may be',
    advice: 'It goes on by itself. The limit rises while the service refuses nothing.',
    tone: 'hold',
  },
  GLOBAL_RATE: {
    name: 'All work together starts as many a second as it may',
    advice: 'It goes on by itself. The limit is one of the configuration.',
    tone: 'hold',
  },
  READY_FULL: {
    name: 'Workers are behind',
    advice: 'It goes on when they have taken some of what is ready. Add workers to be quicker.',
    tone: 'wait',
  },
  TURN: {
    name: 'Others come first',
    advice: 'Its turn comes. A larger weight of its group or tenant brings it sooner.',
    tone: 'wait',
  },
  WORKER: {
    name: 'All workers are busy',
    advice: 'It is the turn of the next worker that is free. Add workers to be quicker.',
    tone: 'wait',
  },
};

/** A gate in words; one that nobody knows keeps its name. */
export function gateText(gate: string, status?: string): GateText {
  const known = Object.hasOwn(GATES, gate) ? GATES[gate] : undefined;
  if (!known) return { name: statusText(gate), advice: '', tone: 'hold' };
  return gate === 'DONE' && status !== undefined ? { ...known, tone: toneOf(status) } : known;
}

/** What is known of a gate, with times and amounts as people write them. */
export function gateDetail({ gate, detail }: Gate, { job, position }: Explanation): string {
  if (gate === 'BACK_OFF') return reasonText(job.reason) ?? detail;
  if (gate === 'TURN') return aheadText(position) ?? detail;
  return detail.replaceAll(/\b(\d+) ms\b/g, (_, ms: string) => durationText(Number(ms)));
}

function aheadText({ jobsAhead, groupsAhead, tenantsAhead }: Explanation['position']): string | undefined {
  const ahead = [
    jobsAhead > 0 && `${counted(jobsAhead, 'job')} of its group`,
    groupsAhead > 0 && `${counted(groupsAhead, 'group')} of its tenant`,
    tenantsAhead > 0 && counted(tenantsAhead, 'tenant'),
  ].filter((part) => part !== false);
  if (ahead.length === 0) return undefined;
  const isOne = jobsAhead + groupsAhead + tenantsAhead === 1;
  return `${listed.format(ahead)} ${isOne ? 'comes' : 'come'} first`;
}

const listed = new Intl.ListFormat('en-GB');

/** Whether a job waits at all: it has not ended and does not run. */
export const isWaiting = ({ gate }: Pick<Explanation, 'gate'>): boolean =>
  gate !== 'DONE' && gate !== 'RUNNING';
