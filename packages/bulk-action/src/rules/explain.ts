import type { JobView } from '../model.js';
import type { GroupStatus } from '../states.js';
import { type Bucket, nextSlotUs } from './gcra.js';

/** What holds a job back. */
export type GateName =
  | 'DONE'
  | 'RUNNING'
  | 'PAUSED'
  | 'BACK_OFF'
  | 'NO_PROCESSOR'
  | 'GROUP_CAP'
  | 'TENANT_CAP'
  | 'MAX_SHARE'
  | 'GROUP_FROZEN'
  | 'GROUP_SLOWED'
  | 'RESOURCE_FROZEN'
  | 'RESOURCE_CAP'
  | 'RESOURCE_RATE'
  | 'GROUP_RATE'
  | 'TENANT_RATE'
  | 'GLOBAL_RATE'
  | 'READY_FULL'
  | 'TURN'
  | 'WORKER';

/** What the store knows that bears on one job. */
export interface ExplainFacts {
  readonly nowUs: number;
  readonly job: JobView;
  /** The job's payload is left out. */
  readonly group: ScopeFacts & {
    readonly status: GroupStatus;
    readonly paused: boolean;
    /** By what a called service holds this group back alone. */
    readonly slow?: { readonly bucket?: Bucket; readonly frozenForMs: number };
  };
  readonly tenant: ScopeFacts;
  readonly global: Pick<ScopeFacts, 'bucket' | 'readyCost'>;
  /** What it calls, when that is known as a resource. */
  readonly resource?: Omit<ScopeFacts, 'running'> & {
    readonly name: string;
    /** For how long the service asked to be left alone. */
    readonly frozenForMs: number;
  };
  /** Whether its group holds its largest part of the slots, and one with fewer could run: `fairQueue.maxShare`. */
  readonly overShare: boolean;
  /** Jobs before it in its lane; groups of its tenant and tenants with an earlier start tag. */
  readonly jobsAhead: number;
  readonly groupsAhead: number;
  readonly tenantsAhead: number;
  /** Jobs before it in ready, for a ready job; else all of ready. */
  readonly readyAhead: number;
  readonly readyBound: number;
  readonly waitingSlots: number;
  readonly startsPerSecond: number;
  readonly groupSettledPerSecond: number;
  /** Whether a live instance has the job's processor. */
  readonly processorKnown: boolean;
  /** Non-ready only: until it is due. */
  readonly dueInMs: number;
}

/** Cap and rate of a group, a tenant or the engine. */
export interface ScopeFacts {
  /** Ready and in flight, and those in flight. */
  readonly held: number;
  readonly running: number;
  readonly concurrency?: number;
  readonly bucket?: Bucket;
  /** Cost of what is in ready and will spend tokens first. */
  readonly readyCost: number;
}

type RateFacts = Pick<ScopeFacts, 'bucket' | 'readyCost'>;

/** One thing that holds a job back. */
export interface GateView {
  readonly gate: GateName;
  /** When it opens by itself, where that is known. */
  readonly opensInMs?: number;
  readonly detail: string;
}

/** Why a job does not run, and when it will. */
export interface Explanation {
  readonly job: JobView;
  /** The first of `gates`. */
  readonly gate: GateName;
  /** Everything that must change before the job runs, in the order in which it meets it. */
  readonly gates: readonly GateView[];
  readonly position: {
    readonly jobsAhead: number;
    readonly groupsAhead: number;
    readonly tenantsAhead: number;
  };
  readonly etaMs: number | null;
}

const inMs = (us: number) => Math.max(0, Math.ceil(us / 1000));

/**
 * Says which gates hold a job and when it will run.
 * @param facts - what the store knows, seen at one instant.
 */
export function explainJob(facts: ExplainFacts): Explanation {
  const gates = gatesOf(facts);
  const [first] = gates;
  const { jobsAhead, groupsAhead, tenantsAhead } = facts;
  return {
    job: facts.job,
    gate: first?.gate ?? 'WORKER',
    gates,
    position: { jobsAhead, groupsAhead, tenantsAhead },
    etaMs: etaOf(facts, gates),
  };
}

function gatesOf(facts: ExplainFacts): GateView[] {
  const { job, group } = facts;
  switch (job.place) {
    case 'DONE':
    case 'DEAD':
      return [{ gate: 'DONE', detail: `The job has ended as ${job.status}` }];
    case 'IN_FLIGHT':
      if (job.status === 'PROCESSING') return [{ gate: 'RUNNING', detail: 'A worker runs the job now' }];
      break;
    default:
      break;
  }
  if (job.status === 'CANCELLED') return [{ gate: 'DONE', detail: `The group has ended as ${group.status}` }];
  const gates: GateView[] = [];
  if (group.paused) gates.push({ gate: 'PAUSED', detail: 'The group is paused; resume it' });
  if (job.place === 'NON_READY') gates.push(backOff(facts));
  if (!facts.processorKnown) {
    const detail = `No live instance has a processor for '${job.processorType}'`;
    gates.push({ gate: 'NO_PROCESSOR', detail });
  }
  const ready = job.place === 'READY';
  gates.push(...capGates(facts, ready), ...rateGates(facts, ready), ...turnGates(facts, ready));
  return gates;
}

function backOff({ job, dueInMs }: ExplainFacts): GateView {
  return { gate: 'BACK_OFF', opensInMs: dueInMs, detail: `${job.reason}, due in ${dueInMs} ms` };
}

function capGates({ group, tenant, resource, overShare }: ExplainFacts, ready: boolean): GateView[] {
  // A ready job has its slot already: only a cap that was lowered stops it.
  const full = ({ held, running, concurrency }: ScopeFacts) =>
    concurrency !== undefined && (ready ? running : held) >= concurrency;
  const detail = ({ held, concurrency }: ScopeFacts) => `${held} of ${concurrency} are ready or running`;
  const gates: GateView[] = ready ? [] : frozenGates(group, resource);
  if (full(group)) gates.push({ gate: 'GROUP_CAP', detail: detail(group) });
  if (full(tenant)) gates.push({ gate: 'TENANT_CAP', detail: detail(tenant) });
  if (resource?.concurrency !== undefined && resource.held >= resource.concurrency && !ready) {
    const held = `${resource.held} of ${resource.concurrency} jobs that call '${resource.name}' are ready or running`;
    gates.push({ gate: 'RESOURCE_CAP', detail: held });
  }
  if (overShare && !ready) {
    const held = `${group.held} of its jobs are ready or running, its largest share while a group with fewer can run`;
    gates.push({ gate: 'MAX_SHARE', detail: held });
  }
  return gates;
}

function frozenGates({ slow }: ExplainFacts['group'], resource: ExplainFacts['resource']): GateView[] {
  const gates: GateView[] = [];
  if (slow && slow.frozenForMs > 0) {
    const { frozenForMs: opensInMs } = slow;
    const detail = `a called service asked to be left alone by this group for ${opensInMs} ms`;
    gates.push({ gate: 'GROUP_FROZEN', opensInMs, detail });
  }
  if (resource && resource.frozenForMs > 0) {
    const { name, frozenForMs: opensInMs } = resource;
    const detail = `'${name}' asked to be left alone for ${opensInMs} ms`;
    gates.push({ gate: 'RESOURCE_FROZEN', opensInMs, detail });
  }
  return gates;
}

function rateGates(facts: ExplainFacts, ready: boolean): GateView[] {
  const scopes = [
    ['GROUP_RATE', facts.group],
    ['GROUP_SLOWED', { ...facts.group.slow, readyCost: facts.group.readyCost }],
    ['TENANT_RATE', facts.tenant],
    ['RESOURCE_RATE', facts.resource ?? { readyCost: 0 }],
    ['GLOBAL_RATE', facts.global],
  ] as const;
  return scopes.flatMap(([gate, { bucket, readyCost }]: readonly [GateName, RateFacts]) => {
    if (!bucket) return [];
    const first = ready ? 0 : readyCost;
    const slotUs = nextSlotUs(bucket, facts.nowUs, facts.job.cost, first);
    if (slotUs <= facts.nowUs) return [];
    // Tokens of what is in ready are spent at its start; while no worker waits for it, nobody knows when that is.
    const isKnown =
      first <= bucket.burst - Math.min(facts.job.cost, bucket.burst) ||
      facts.waitingSlots >= facts.readyAhead;
    if (!isKnown)
      return [{ gate, detail: `${bucket.rps} per second; the next slots are for what waits in ready` }];
    const opensInMs = inMs(slotUs - facts.nowUs);
    return [{ gate, opensInMs, detail: `${bucket.rps} per second; the next slot is in ${opensInMs} ms` }];
  });
}

function turnGates(facts: ExplainFacts, ready: boolean): GateView[] {
  const { jobsAhead, groupsAhead, tenantsAhead, readyAhead, readyBound } = facts;
  if (ready) {
    if (facts.waitingSlots > readyAhead) return [];
    return [{ gate: 'WORKER', detail: `${readyAhead} jobs are before it, and every worker is busy` }];
  }
  const gates: GateView[] = [];
  if (readyAhead >= readyBound)
    gates.push({ gate: 'READY_FULL', detail: `${readyAhead} of ${readyBound} jobs wait for workers` });
  if (jobsAhead + groupsAhead + tenantsAhead > 0) {
    const detail = `${jobsAhead} jobs of its group, ${groupsAhead} groups of its tenant and ${tenantsAhead} tenants come first`;
    gates.push({ gate: 'TURN', detail });
  }
  return gates;
}

/** The longest of the gates that open by themselves, and the jobs of its group before it at the group's speed. */
function etaOf(facts: ExplainFacts, gates: readonly GateView[]): number | null {
  const names = gates.map(({ gate }) => gate);
  if (names.includes('DONE') || names.includes('PAUSED') || names.includes('NO_PROCESSOR')) return null;
  if (names.includes('RUNNING')) return 0;
  const opens = Math.max(0, ...gates.map(({ opensInMs = 0 }) => opensInMs));
  if (names.length === 0) return opens;
  if (names.every((name) => /RATE$|SLOWED$|FROZEN$|BACK_OFF/.test(name)) && facts.jobsAhead === 0)
    return opens;
  const rate = facts.groupSettledPerSecond || facts.startsPerSecond / (1 + facts.tenantsAhead);
  if (rate <= 0) return null;
  return Math.max(opens, Math.ceil(((facts.jobsAhead + 1) / rate) * 1000));
}
