import type { GroupInput } from '@millrace/bulk-action';
import type { Rng } from '@millrace/foundation';

/**
 * What a job does when it is run. `fails`: by an error that may be retried, in its first tries or in all. `refuses`: by
 * one that may not. `throttled`: the first try meets a limit of the called service. `exits`: ends its process each time.
 * `blocks`: the first try holds the event loop. `calls`: asks a service over HTTP, which may answer 503. `misbehaves`: in
 * one of the ways of bad-deeds.ts.
 */
export type Deed =
  | 'works'
  | 'fails-first'
  | 'fails-always'
  | 'refuses'
  | 'throttled-first'
  | 'exits'
  | 'blocks-first'
  | 'calls'
  | 'misbehaves';

/** The payload of a job. */
export interface JobScript {
  readonly does: Deed;
  readonly ms: number;
  /** What it calls. */
  readonly url?: string;
  /** Only makes the payload large. */
  readonly padding?: string;
  /** How it misbehaves. */
  readonly bad?: string;
  /** Which processor runs it, where it is not the usual one. */
  readonly type?: string;
  /** Anything; the processor writes down what it was given. */
  readonly cargo?: unknown;
}

/** A job and what must come of it, whatever faults there are. */
export interface PlannedJob {
  readonly id: string;
  readonly script: JobScript;
  readonly ends: 'COMPLETED' | 'FAILED';
  /** Whether it ends as a dead letter. */
  readonly dead: boolean;
}

/** A group and its jobs. */
export interface PlannedGroup {
  readonly input: GroupInput;
  readonly jobs: readonly PlannedJob[];
}

/** Everything that is handed in by a scenario. */
export interface Plan {
  readonly groups: readonly PlannedGroup[];
  /** Most jobs of a tenant that run at once, where there is such a limit. */
  readonly tenantCaps: Readonly<Record<string, number>>;
}

/** How much work of which kind. */
export interface PlanSize {
  readonly groups: number;
  readonly jobs: number;
  /** Shortest and longest job. */
  readonly ms: readonly [number, number];
  /** A share of the jobs takes so long instead: they still run elsewhere when their first process wakes. */
  readonly long?: { readonly share: number; readonly ms: number };
  /** Whether some groups have caps and rates, and some jobs fail or meet limits. */
  readonly mixed: boolean;
}

const CAPPED_TENANT = 'capped';
const TENANT_CAP = 6;
const GROUP_CAP = 3;
/** Fewer in a second than the smallest group has jobs. */
const RPS = 10;
const BURST = 2;

/** How often each deed occurs in a mixed plan; the rest works. */
const DEEDS: readonly (readonly [Deed, number])[] = [
  ['fails-first', 0.03],
  ['throttled-first', 0.02],
  ['refuses', 0.01],
  ['fails-always', 0.01],
];

/** Draws the work of a scenario: always the same for the same seed and size. */
export function drawPlan(rng: Rng, { groups, jobs, ms, long, mixed }: PlanSize): Plan {
  const drawMs = () => (long && rng.chance(long.share) ? long.ms : rng.integer(...ms));
  return {
    groups: Array.from({ length: groups }, (_, index) => {
      const count = Math.floor(((index + 1) * jobs) / groups) - Math.floor((index * jobs) / groups);
      return {
        input: { id: `g${index}`, ...(mixed && limitsOf(index)) },
        jobs: Array.from({ length: count }, (_, at) =>
          planJob(`j${at}`, { does: mixed ? drawDeed(rng) : 'works', ms: drawMs() }),
        ),
      };
    }),
    tenantCaps: mixed ? { [CAPPED_TENANT]: TENANT_CAP } : {},
  };
}

/** A job with what must come of it. */
export function planJob(id: string, script: JobScript): PlannedJob {
  const dead = script.does === 'fails-always' || script.does === 'exits';
  return { id, script, ends: dead || script.does === 'refuses' ? 'FAILED' : 'COMPLETED', dead };
}

/** How a job is called over all groups. */
export const jobName = (groupId: string, jobId: string): string => `${groupId}#${jobId}`;

/** All jobs of a plan by name. */
export const jobsByName = ({ groups }: Plan): ReadonlyMap<string, PlannedJob> =>
  new Map(groups.flatMap(({ input, jobs }) => jobs.map((job) => [jobName(input.id, job.id), job])));

/** By number, so that every size has each kind. */
function limitsOf(index: number): Partial<GroupInput> {
  if (index % 6 === 1) return { concurrency: GROUP_CAP };
  if (index % 6 === 2) return { rps: RPS, burst: BURST };
  // Few: their jobs pass through a narrow gate, and a killed worker keeps its slots until its leases expire.
  if (index % 60 === 3) return { tenantId: CAPPED_TENANT };
  return index % 6 === 4 ? { tenantId: 'shared', priorityLevel: 'high' } : {};
}

function drawDeed(rng: Rng): Deed {
  let left = rng.next();
  for (const [deed, share] of DEEDS) {
    left -= share;
    if (left < 0) return deed;
  }
  return 'works';
}
