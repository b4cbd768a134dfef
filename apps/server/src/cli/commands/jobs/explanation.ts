import type { ResponseOf } from '@millrace/contract/server-client';
import { duration } from '../../show/amounts.js';

type Explanation = ResponseOf<'explainJob'>;

/** What to do about a gate that opens for somebody only, or later than wished; `GROUP` stands for the group. */
const ADVICE: Readonly<Record<string, string>> = {
  PAUSED: 'millrace groups resume GROUP',
  NO_PROCESSOR: 'start a server with an application that has it: millrace start --app FILE',
  GROUP_CAP: 'millrace groups set GROUP --concurrency COUNT',
  GROUP_RATE: 'millrace groups set GROUP --rps NUMBER',
  TURN: 'millrace groups set GROUP --weight NUMBER gives it a larger part among the groups of its tenant',
};

/** Details tell such times themselves, in milliseconds. */
const LONG_MS = 1_000;

/** Why a job does not run and until when, in sentences. */
export function explanationLines({ job, gate, gates, etaMs }: Explanation): readonly string[] {
  const subject = `Job ${job.id} of group ${job.groupId} is ${job.status}`;
  if (gate === 'DONE') return [`${subject}: it has ended, and will not run again by itself.`];
  if (gate === 'RUNNING') return [`${subject}: a worker runs it now.`];
  if (gates.length === 0)
    return [`${subject}. Nothing holds it back: it starts as soon as a worker takes it.`];
  return [
    `${subject}. Before it runs:`,
    ...gates.flatMap((one) => gateLines(one, job.groupId)),
    etaMs === null ? 'Nobody can say when it will run.' : `It will run in about ${duration(etaMs)}.`,
  ];
}

function gateLines({ gate, detail, opensInMs }: Explanation['gates'][number], groupId: string): string[] {
  const opens =
    opensInMs === null || opensInMs < LONG_MS ? '' : `; this changes by itself in ${duration(opensInMs)}`;
  const advice = ADVICE[gate]?.replace('GROUP', groupId);
  return [`  ${gate}: ${detail}${opens}.`, ...(advice === undefined ? [] : [`    To change it: ${advice}`])];
}
