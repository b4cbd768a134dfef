import type {
  DeadLetter,
  DeadLetterSignature,
  Explanation,
  GroupProgress,
  GroupResult,
  GroupView,
  JobView,
  TenantView,
} from '@millrace/bulk-action';
import type {
  DeadLetterBody,
  DeadLetterSignatureBody,
  ExplanationBody,
  GroupBody,
  GroupResultBody,
  JobBody,
  ProgressBody,
  TenantBody,
} from '@millrace/contract';
import { shownId } from '../http/tenant-scope.js';
import type { Caller } from '../security/caller.js';

/* What the engine shows, as bodies have it. */

type Who = Pick<Caller, 'tenant'>;

/**
 * A time as bodies have it.
 * @param ms - milliseconds since 1970.
 */
export const iso = (ms: number): string => new Date(ms).toISOString();

const isoOrNone = (ms: number | undefined): string | null => (ms === undefined ? null : iso(ms));

const limitsOf = ({ weight, rps, burst, concurrency }: GroupView | TenantView) => ({
  weight,
  rps: rps ?? null,
  burst: burst ?? null,
  concurrency: concurrency ?? null,
});

/** How far a group is. */
export const progressBody = (progress: GroupProgress): ProgressBody => ({
  ...progress,
  congestion: { ...progress.congestion },
});

/** A group. */
export const groupBody = (caller: Who, group: GroupView, progress: GroupProgress): GroupBody => ({
  id: shownId(caller, group.id),
  tenant: group.tenant,
  tenantId: group.tenantId,
  ...limitsOf(group),
  priorityLevel: group.priorityLevel,
  timeoutMs: group.timeoutMs,
  deadline: isoOrNone(group.deadline),
  traceparent: group.traceparent || null,
  status: group.status,
  sealed: group.sealed,
  paused: group.paused,
  round: group.round,
  createdAt: iso(group.createdAt),
  startedAt: isoOrNone(group.startedAt),
  endedAt: isoOrNone(group.endedAt),
  progressAt: iso(group.progressAt),
  settledPerSecond: group.settledPerSecond,
  throttled: group.throttled,
  rateDenied: group.rateDenied,
  progress: progressBody(progress),
});

/** What came of a group. */
export const resultBody = (caller: Who, result: GroupResult): GroupResultBody => ({
  ...result,
  groupId: shownId(caller, result.groupId),
  code: result.code ?? null,
  message: result.message ?? null,
  durations: { ...result.durations },
  failedByCode: { ...result.failedByCode },
  failedJobs: [...result.failedJobs],
  data: result.data ?? null,
  numbers: { ...result.numbers },
  resultsDropped: result.resultsDropped ?? 0,
  startedAt: isoOrNone(result.startedAt),
  endedAt: iso(result.endedAt),
});

/** A job. */
export const jobBody = (caller: Who, { failedTries, ...job }: JobView): JobBody => ({
  ...job,
  groupId: shownId(caller, job.groupId),
  payload: job.payload ?? null,
  createdAt: iso(job.createdAt),
  notBefore: isoOrNone(job.notBefore),
  deadline: isoOrNone(job.deadline),
  startedAt: isoOrNone(job.startedAt),
  endedAt: isoOrNone(job.endedAt),
  dueAt: isoOrNone(job.dueAt),
  reason: job.reason ?? null,
  failedAttempts: failedTries.map((failed) => ({ ...failed, at: iso(failed.at) })),
  traceparent: job.traceparent || null,
});

/** Why a job does not run. */
export const explanationBody = (caller: Who, explanation: Explanation): ExplanationBody => ({
  job: jobBody(caller, explanation.job),
  gate: explanation.gate,
  gates: explanation.gates.map(({ gate, opensInMs, detail }) => ({
    gate,
    opensInMs: opensInMs ?? null,
    detail,
  })),
  position: { ...explanation.position },
  etaMs: explanation.etaMs,
});

/** A fairness unit. */
export const tenantBody = (tenant: TenantView): TenantBody => ({
  id: tenant.id,
  ...limitsOf(tenant),
  groups: tenant.groups,
  pending: tenant.pending,
  inFlight: tenant.inFlight,
  served: tenant.served,
  servedPerSecond: tenant.servedPerSecond,
});

/** A dead letter. */
export const deadLetterBody = (caller: Who, letter: DeadLetter): DeadLetterBody => ({
  ...letter,
  job: jobBody(caller, letter.job),
  failedAt: iso(letter.failedAt),
});

/** Dead letters of one cause. */
export const signatureBody = (caller: Who, cause: DeadLetterSignature): DeadLetterSignatureBody => ({
  ...cause,
  firstFailedAt: iso(cause.firstFailedAt),
  lastFailedAt: iso(cause.lastFailedAt),
  sample: { ...cause.sample, groupId: shownId(caller, cause.sample.groupId) },
});
