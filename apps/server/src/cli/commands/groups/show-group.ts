import type { ResponseOf } from '@millrace/contract/server-client';
import { amount, duration, moment, percent } from '../../show/amounts.js';
import type { Column, Printer } from '../../show/printer.js';
import { shortened } from '../../show/text.js';
import { limitTexts } from './limit-options.js';

/** A group, as the server sends it. */
export type Group = ResponseOf<'getGroup'>;
/** What came of one. */
export type GroupResult = ResponseOf<'getGroupResult'>;

/** What is printed of a group besides the group itself. */
export interface MoreOfGroup {
  readonly result?: GroupResult | undefined;
  readonly waitsFor?: string | undefined;
}

/** What a person reads; `--json` has all. */
const CODES_MAX = 10;
const FAILED_JOBS_MAX = 5;
const MESSAGE_CHARACTERS_MAX = 100;
const DATA_CHARACTERS_MAX = 2_000;

/** Where a group is, and what is special about that. */
export const statusOf = ({ status, paused, sealed, endedAt }: Group): string =>
  [
    status,
    ...(paused && endedAt === null ? ['paused'] : []),
    ...(sealed || endedAt !== null ? [] : ['takes more jobs']),
  ].join(', ');

/**
 * Prints a group: how it is defined, how far it is, and what came of it.
 * @param more - `result`: of its last round, where that has ended; `waitsFor`: what its jobs wait for, where none of them runs.
 */
export function showGroup(printer: Printer, group: Group, more: MoreOfGroup = {}): void {
  const { progress } = group;
  printer.fields({
    group: group.id,
    tenant: group.tenant || undefined,
    'fairness unit': group.tenantId === group.id ? undefined : group.tenantId,
    status: statusOf(group),
    round: group.round > 1 ? String(group.round) : undefined,
    done: `${amount(progress.done)} of ${amount(progress.registered)} (${percent(progress.progressPercent / 100)})`,
    ended: `${amount(progress.success)} succeeded, ${amount(progress.failed)} failed, ${amount(progress.cancelled)} cancelled`,
    ...(group.endedAt === null && runningFields(group)),
    'waits for': more.waitsFor,
    weight: `${amount(group.weight)}, priority ${group.priorityLevel}`,
    limits: limitsText(group),
    deadline: group.deadline === null ? undefined : moment(group.deadline),
    created: moment(group.createdAt),
    started: group.startedAt === null ? undefined : moment(group.startedAt),
    finished: group.endedAt === null ? undefined : moment(group.endedAt),
  });
  if (more.result) showResult(printer, more.result);
}

function runningFields({ progress, settledPerSecond, throttled }: Group) {
  const { pending, inFlight, nonReady, etaMs, congestion } = progress;
  return {
    open: `${amount(inFlight)} running, ${amount(pending)} waiting (${amount(nonReady)} of them for a time)`,
    'per second': amount(settledPerSecond),
    'time left': duration(etaMs),
    congestion:
      congestion.level === 'NONE' ? undefined : `${congestion.level}, refused ${amount(throttled)} times`,
  };
}

const limitsText = (group: Group): string =>
  [...limitTexts(group), `fails after ${duration(group.timeoutMs)} without progress`].join(', ');

type FailedJob = GroupResult['failedJobs'][number];

const FAILED_JOBS: readonly Column<FailedJob>[] = [
  { name: 'failed job', of: ({ jobId }) => jobId },
  { name: 'code', of: ({ code }) => code },
  { name: 'message', of: ({ message }) => shortened(message, MESSAGE_CHARACTERS_MAX) },
];

/** Prints what came of a group. */
export function showResult(printer: Printer, result: GroupResult): void {
  const { code, message, data, durations, failedByCode, failedJobs, resultsDropped } = result;
  const codes = Object.entries(failedByCode).sort(([, one], [, other]) => other - one);
  printer.line('');
  printer.fields({
    result: `${result.status}${code === null ? '' : `: ${code}`}`,
    because: message ?? undefined,
    success: `${percent(result.successRate)} of ${amount(result.success + result.failed)} jobs`,
    took: duration(result.durationMs),
    tries:
      durations.count === 0
        ? undefined
        : `p50 ${duration(durations.p50)}, p95 ${duration(durations.p95)}, p99 ${duration(durations.p99)}, longest ${duration(durations.max)}`,
    failures:
      codes.length === 0
        ? undefined
        : codes
            .slice(0, CODES_MAX)
            .map(([name, count]) => `${name} ${amount(count)}`)
            .concat(codes.length > CODES_MAX ? ['…'] : [])
            .join(', '),
    dropped: resultsDropped > 0 ? `${amount(resultsDropped)} results were too large to keep` : undefined,
    data: data === null ? undefined : shortened(JSON.stringify(data), DATA_CHARACTERS_MAX),
  });
  if (failedJobs.length === 0) return;
  printer.line('');
  printer.table(FAILED_JOBS, failedJobs.slice(0, FAILED_JOBS_MAX), '');
}
