import type { DeadLetter, DeadLetterSignature } from '../model.js';
import type { DeadLetterFilter, DeadLetterStore } from '../ports.js';
import { forgetFailure } from '../rules/failure-codes.js';
import { groupIdOf } from '../rules/ids.js';
import { plainCursor } from '../rules/shard-pages.js';
import type { MarkedPage } from '../shard-port.js';
import { hasEnded } from '../states.js';
import type { DeadRecord } from './dead-records.js';
import { expireAt, openRound, resumeRound } from './ending.js';
import { joinLane } from './moves.js';
import { JobRecord } from './records.js';
import type { MemoryState } from './state.js';
import { readPayload } from './views.js';

/** Dead letters on the memory state. */
export const memoryDeadLetters = (state: MemoryState): DeadLetterStore => ({
  async list(filter, limit, cursor) {
    const { marks: _, ...page } = state.step(() => listLetters(state, filter, limit, cursor));
    return page;
  },
  signatures: async (filter, limit) => state.step(() => signatures(state, filter, limit)),
  redrive: async (filter, max) => state.step(() => forEach(state, filter, max, redrive)),
  purge: async (filter, max) => state.step(() => forEach(state, filter, max, removeDeadLetter)),
});

/** The letters that a filter may match, by the narrowest index. */
function candidates(state: MemoryState, { key, signature }: DeadLetterFilter): Iterable<DeadRecord> {
  if (key !== undefined) return state.deadLetters.ofGroup(key);
  return signature === undefined ? state.deadLetters.all() : state.deadLetters.ofSignature(signature);
}

const matches = ({ key, jobId, signature, tenant }: DeadLetterFilter, letter: DeadRecord): boolean =>
  (key === undefined || letter.group.key === key) &&
  (jobId === undefined || letter.jobId === jobId) &&
  (signature === undefined || letter.signature === signature) &&
  (tenant === undefined || letter.group.tenant === tenant);

/** Newest first. */
export function listLetters(
  state: MemoryState,
  filter: DeadLetterFilter,
  limit: number,
  cursor: string | undefined,
): MarkedPage<DeadLetter> {
  const before = Number(plainCursor(cursor) ?? Number.POSITIVE_INFINITY);
  const found = [...candidates(state, filter)].filter(
    (letter) => letter.seq < before && matches(filter, letter),
  );
  const page = found.slice(-limit).reverse();
  const last = page.at(-1);
  return {
    items: page.map(view),
    marks: page.map(({ seq }) => String(seq)),
    ...(last && found.length > limit && { cursor: String(last.seq) }),
  };
}

function view(letter: DeadRecord): DeadLetter {
  const { group, startedAt, notBefore, deadline } = letter;
  return {
    job: {
      id: letter.jobId,
      groupId: groupIdOf(group.key),
      tenant: group.tenant,
      processorType: letter.processorType,
      ...readPayload(letter.payload),
      status: 'FAILED',
      place: 'DEAD',
      retryCount: letter.retryCount,
      orphanCount: letter.orphanCount,
      attempts: letter.attempts,
      cost: letter.cost,
      createdAt: letter.createdAt,
      ...(notBefore !== undefined && { notBefore }),
      ...(deadline !== undefined && { deadline }),
      ...(startedAt !== undefined && { startedAt }),
      endedAt: letter.failedAt,
      failedTries: letter.failedTries,
      traceparent: letter.traceparent ?? group.traceparent,
    },
    error: letter.error,
    code: letter.code,
    signature: letter.signature,
    failedAt: letter.failedAt,
    retryCount: letter.retryCount,
  };
}

function signatures(
  state: MemoryState,
  filter: DeadLetterFilter,
  limit: number,
): readonly DeadLetterSignature[] {
  const found = new Map<string, { count: number; firstFailedAt: number; latest: DeadRecord }>();
  for (const letter of candidates(state, filter)) {
    if (!matches(filter, letter)) continue;
    const { signature, failedAt } = letter;
    const cause = found.get(signature) ?? { count: 0, firstFailedAt: failedAt, latest: letter };
    cause.count += 1;
    cause.firstFailedAt = Math.min(cause.firstFailedAt, failedAt);
    if (failedAt >= cause.latest.failedAt) cause.latest = letter;
    found.set(signature, cause);
  }
  return [...found.values()]
    .map(({ count, firstFailedAt, latest }) => ({
      signature: latest.signature,
      count,
      firstFailedAt,
      lastFailedAt: latest.failedAt,
      processorType: latest.processorType,
      code: latest.code,
      sample: { groupId: groupIdOf(latest.group.key), jobId: latest.jobId, message: latest.error },
    }))
    .sort((a, b) => b.count - a.count || (a.signature < b.signature ? -1 : 1))
    .slice(0, limit);
}

function forEach(
  state: MemoryState,
  filter: DeadLetterFilter,
  max: number,
  act: (state: MemoryState, letter: DeadRecord) => void,
): { readonly moved: number; readonly more: boolean } {
  const batch: DeadRecord[] = [];
  let more = false;
  for (const letter of candidates(state, filter)) {
    if (!matches(filter, letter)) continue;
    more = batch.length === max;
    if (more) break;
    batch.push(letter);
  }
  for (const letter of batch) act(state, letter);
  return { moved: batch.length, more };
}

/** Forgets a dead letter; a group that was kept for it alone may go now. */
export function removeDeadLetter(state: MemoryState, letter: DeadRecord): void {
  const { group } = letter;
  state.deadLetters.remove(letter);
  if (group.deadLetters === 0 && hasEnded(group.status) && group.expiryAt < 0)
    expireAt(state, group, state.nowMs);
}

/** Back into its lane as if it had never run: an ended group opens its next round for it. */
function redrive(state: MemoryState, letter: DeadRecord): void {
  const { group, jobId } = letter;
  state.deadLetters.remove(letter);
  if (hasEnded(group.status)) openRound(state, group);
  else if (group.status === 'AGGREGATING') resumeRound(state, group);
  group.failed -= 1;
  if (group.failedByCode) forgetFailure(group.failedByCode, letter.code);
  group.failedJobs = group.failedJobs.filter((failed) => failed.jobId !== jobId);
  const job = group.jobs.get(jobId) ?? revive(group.jobs, group.order, letter);
  job.round = group.round;
  job.outcome = undefined;
  job.endedAt = undefined;
  job.retryCount = 0;
  job.orphanCount = 0;
  joinLane(state, job);
}

/** The job's record is past its retention: the dead letter is a full copy. */
function revive(jobs: Map<string, JobRecord>, order: JobRecord[], letter: DeadRecord): JobRecord {
  const { jobId: id, processorType, payload, cost, charge, notBefore, deadline, traceparent } = letter;
  const job = new JobRecord(
    letter.group,
    {
      id,
      processorType,
      payload,
      cost,
      ...(charge !== undefined && { charge }),
      ...(notBefore !== undefined && { notBefore }),
      ...(deadline !== undefined && { deadline }),
      ...(traceparent !== undefined && { traceparent }),
    },
    letter.createdAt,
  );
  job.attempts = letter.attempts;
  job.startedAt = letter.startedAt;
  job.settledToken = letter.record.settledToken;
  job.settled = letter.record.settled;
  job.failedTries = [...letter.failedTries];
  jobs.set(id, job);
  order.push(job);
  return job;
}
