import { groupIdOf } from '../../../rules/ids.js';
import { hasEnded, type JobPlace, type JobStatus, type NonReadyReason } from '../../../states.js';
import { bodyAt } from '../format/chunk.js';
import { outcomeAt } from '../format/line.js';
import type { Chunk, JobBody } from '../state/chunks.js';
import { addressOf, firstPosition, idOf, indexOf, type Position, queueOf } from '../state/position.js';
import type { Group, Job } from '../state/records.js';

/** A job as its owner knows it. What the job was submitted with is known only while its chunk is at hand. */
export interface JobView extends Partial<SubmittedJob> {
  readonly position: Position;
  /** Plain, or `tenant/id`. */
  readonly groupId: string;
  readonly tenant: string;
  readonly priority: number;
  /** Undefined for a job whose chunk is gone: its compact line in the journal has it. */
  readonly status?: JobStatus;
  /** `LANE` is a queue or the front of the group. Dead letters are `DONE`. */
  readonly place: JobPlace;
  readonly retryCount: number;
  readonly orphanCount: number;
  /** Attempts started so far. */
  readonly attempts: number;
  /** Start of the last attempt. */
  readonly startedAt?: number;
  /** Instance of the attempt in flight. */
  readonly instanceId?: string;
  /** When a delayed job is due, and why it waits. */
  readonly dueAt?: number;
  readonly reason?: NonReadyReason;
}

/** The part of a job that stands in its chunk. */
interface SubmittedJob {
  readonly id: string;
  readonly processorType: string;
  /** JSON. */
  readonly payload: string;
  readonly cost: number;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly deadline: number;
  readonly traceparent: string;
}

/** Where a job is: in memory as a job, or in its queue as a position only. */
export interface Whereabouts {
  readonly place: JobPlace;
  readonly status: JobStatus | undefined;
  readonly job: Job | undefined;
}

/** Finds a job of a group. Returns undefined for a position that was not registered. */
export function locate(group: Group, position: Position): Whereabouts | undefined {
  const queue = group.queues[queueOf(position)];
  if (!queue || position >= queue.tail) return undefined;
  const running = group.inFlight.get(position);
  if (running) return { place: 'IN_FLIGHT', status: 'PROCESSING', job: running };
  const waiting = waitingJob(group, position);
  if (waiting) return waiting;
  const address = addressOf(position);
  const chunk = group.chunks.get(address);
  if (chunk && indexOf(position) >= chunk.jobs) return undefined;
  const status = endOf(group, position);
  if (status) return { place: 'DONE', status, job: undefined };
  if (!hasEnded(group.status) && (position >= queue.next || queue.late.includes(address)))
    return { place: 'LANE', status: 'PENDING', job: undefined };
  return { place: 'DONE', status: undefined, job: undefined };
}

function waitingJob(group: Group, position: Position): Whereabouts | undefined {
  const isIt = (job: Job) => job.position === position;
  const ready = group.ready.find(isIt);
  if (ready) return { place: 'READY', status: 'PENDING', job: ready };
  const delayed = group.delayed.get(position);
  if (delayed) return { place: 'NON_READY', status: 'PENDING', job: delayed };
  const front = group.front.find(isIt);
  return front && { place: 'LANE', status: 'PENDING', job: front };
}

/** Returns how a job ended, if its chunk still has other jobs. */
function endOf(group: Group, position: Position): JobStatus | undefined {
  if (group.skipped.has(position)) return 'CANCELLED';
  const outcomes = group.outcomes.get(addressOf(position));
  return outcomes && outcomeAt(outcomes, indexOf(position));
}

/**
 * Returns a job of a group, or undefined if the group has no job there.
 * @param chunk - its chunk, read from the journal. Only needed if the engine has not loaded it.
 */
export function jobView(
  group: Group,
  position: Position,
  chunk: Chunk | undefined = group.chunks.get(addressOf(position)),
): JobView | undefined {
  const found = locate(group, position);
  const body = chunk ? bodyAt(chunk, indexOf(position)) : found?.job?.body;
  if (!found || (chunk && !body && !found.job)) return undefined;
  const { place, status, job } = found;
  return {
    position,
    groupId: groupIdOf(group.id),
    tenant: group.tenant.id,
    priority: queueOf(position),
    ...(body && submittedOf(body, position, chunk)),
    ...(status && { status }),
    place,
    retryCount: job?.retryCount ?? 0,
    orphanCount: job?.orphanCount ?? 0,
    attempts: job?.attempt ?? 0,
    ...(job && job.startedMs > 0 && { startedAt: job.startedMs }),
    ...(place === 'IN_FLIGHT' && job && { instanceId: job.instanceId }),
    ...(place === 'NON_READY' && job && { dueAt: job.dueMs, reason: job.reason }),
  };
}

const submittedOf = (body: JobBody, position: Position, chunk: Chunk | undefined): Partial<SubmittedJob> => ({
  id: idOf(body.id, position),
  processorType: body.type,
  payload: body.payload,
  cost: body.cost,
  ...(chunk && { createdAt: chunk.createdMs }),
  ...(chunk?.dueMs !== undefined && { notBefore: chunk.dueMs }),
  ...(body.deadlineMs !== undefined && { deadline: body.deadlineMs }),
  ...(body.traceparent !== undefined && { traceparent: body.traceparent }),
});

/** A page of jobs. */
export interface JobPage {
  readonly items: readonly JobView[];
  /** The first position of the next page; undefined after the last one. */
  readonly cursor: Position | undefined;
}

/** Maximum number of positions that a page reads. */
const SCAN_MAX = 1_000;

/**
 * Lists jobs by position. A page ends after `limit` jobs or after 1,000 positions, so a filter may make it short.
 * @param chunks - chunks of the group in ascending order, read from the journal. The engine has only some of them loaded.
 */
export function listJobs(
  group: Group,
  chunks: readonly Chunk[],
  page: {
    readonly from?: Position | undefined;
    readonly limit: number;
    readonly status?: JobStatus | undefined;
  },
): JobPage {
  const items: JobView[] = [];
  let scanned = 0;
  for (const chunk of chunks) {
    const first = firstPosition(chunk.address);
    const end = first + chunk.jobs;
    for (let position = Math.max(first, page.from ?? 0); position < end; position++) {
      if (items.length >= page.limit || scanned >= SCAN_MAX) return { items, cursor: position };
      scanned += 1;
      const job = jobView(group, position, chunk);
      if (job && (page.status === undefined || job.status === page.status)) items.push(job);
    }
  }
  return { items, cursor: undefined };
}
