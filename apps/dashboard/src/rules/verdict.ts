import type { ResponseOf } from '@millrace/contract/server-client';
import { counted, rateText } from './amounts.js';
import { wants } from './shares.js';
import { durationText } from './times.js';
import type { Tone } from './tones.js';

/** What a verdict is made of. */
export interface VerdictFacts {
  readonly tenants: ResponseOf<'getFairness'>['tenants'];
  /** Those who have had clearly less than their fair share for a while. */
  readonly underserved: readonly string[];
  /** null: this caller is not told, or nobody could look. */
  readonly queues: {
    readonly lane: number;
    readonly ready: number;
    readonly nonReady: number;
    readonly inFlight: number;
    readonly liveSlots: number;
    readonly waitingSlots: number;
  } | null;
  readonly resources: ResponseOf<'getCongestion'>['resources'];
}

/** Something that somebody should know, and where to look. */
interface VerdictFinding {
  readonly text: string;
  readonly tone: Tone;
  readonly view: 'groups' | 'congestion' | 'workers';
}

/** Whether everybody is served. */
export interface VerdictText {
  readonly headline: string;
  readonly note: string;
  readonly tone: Tone;
  readonly findings: readonly VerdictFinding[];
}

/** Is everybody served? What is stuck, why, and until when? */
export function verdictOf(facts: VerdictFacts): VerdictText {
  const workers = workerFindings(facts);
  const shares = shareFindings(facts);
  const services = serviceFindings(facts);
  const findings = [...workers, ...shares, ...services];
  const note = noteOf(facts);
  if (workers.length > 0) return { headline: 'Work waits and nobody does it', note, tone: 'fail', findings };
  if (isIdle(facts))
    return { headline: 'All is quiet', note: 'Nothing waits and nothing runs.', tone: 'ok', findings };
  if (shares.length > 0) return { headline: 'Not everybody gets their share', note, tone: 'hold', findings };
  if (services.length > 0)
    return {
      headline: 'Everybody is served, as far as the called services allow',
      note,
      tone: 'ok',
      findings,
    };
  return { headline: 'Everybody is served', note, tone: 'ok', findings };
}

const waitingOf = (queues: NonNullable<VerdictFacts['queues']>): number =>
  queues.lane + queues.ready + queues.nonReady;

const isIdle = ({ tenants, queues }: VerdictFacts): boolean =>
  queues ? waitingOf(queues) + queues.inFlight === 0 : !tenants.some(wants);

function noteOf({ tenants, queues }: VerdictFacts): string {
  const wanting = counted(tenants.filter(wants).length, 'tenant wants', 'tenants want');
  if (!queues) return `${wanting} something now.`;
  const busy = queues.liveSlots - queues.waitingSlots;
  return `${wanting} something now; ${busy} of ${counted(queues.liveSlots, 'worker')} ${busy === 1 ? 'is' : 'are'} busy.`;
}

function workerFindings({ queues }: VerdictFacts): VerdictFinding[] {
  const waiting = queues ? waitingOf(queues) : 0;
  if (!queues || queues.liveSlots > 0 || waiting === 0) return [];
  const text = `${counted(waiting, 'job waits', 'jobs wait')} and there are no workers`;
  return [{ text, tone: 'fail', view: 'workers' }];
}

/** Named up to here, counted beyond. */
const NAMED_MAX = 3;

function shareFindings({ underserved }: VerdictFacts): VerdictFinding[] {
  if (underserved.length === 0) return [];
  const names =
    underserved.length <= NAMED_MAX ? underserved.join(', ') : counted(underserved.length, 'tenant');
  const gets = underserved.length === 1 ? 'gets' : 'get';
  return [
    {
      text: `${names} ${gets} clearly less than a fair share: see what holds back`,
      tone: 'hold',
      view: 'groups',
    },
  ];
}

function serviceFindings({ resources }: VerdictFacts): VerdictFinding[] {
  return resources.flatMap(({ resource, frozenForMs, limit }): VerdictFinding[] => {
    if (frozenForMs <= 0 && limit === null) return [];
    const text =
      frozenForMs > 0
        ? `${resource} refuses calls: the next is made in ${durationText(frozenForMs)}`
        : `${resource} has refused calls: at most ${rateText(limit)} a second are made`;
    return [{ text, tone: 'hold', view: 'congestion' }];
  });
}
