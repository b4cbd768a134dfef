import type { ResponseOf } from '@millrace/contract/server-client';
import { amount, duration, moment } from '../../show/amounts.js';
import type { Column, Printer } from '../../show/printer.js';
import { shortened } from '../../show/text.js';

/** A job of a list, as the server sends it. */
export type Job = ResponseOf<'listJobs'>['items'][number];

const MESSAGE_CHARACTERS_MAX = 100;
/** One job has room for more; `--json` has all. */
const VALUE_CHARACTERS_MAX = 2_000;

/** The columns of a list of jobs. */
export const JOB_COLUMNS: readonly Column<Job>[] = [
  { name: 'job', of: ({ id }) => id },
  { name: 'processor', of: ({ processorType }) => processorType },
  { name: 'state', of: ({ status }) => status },
  { name: 'tries', of: ({ attempts }) => amount(attempts), isNumber: true },
  { name: 'created', of: ({ createdAt }) => moment(createdAt) },
  {
    name: 'last error',
    of: ({ failedAttempts }) => shortened(errorText(failedAttempts), MESSAGE_CHARACTERS_MAX),
  },
];

type FailedAttempt = Job['failedAttempts'][number];

const errorText = (failedAttempts: readonly FailedAttempt[]): string => {
  const last = failedAttempts.at(-1);
  return last ? `${last.code}: ${last.message}` : '-';
};

const ATTEMPT_COLUMNS: readonly Column<FailedAttempt>[] = [
  { name: 'failed try', of: ({ at }) => moment(at) },
  { name: 'took', of: ({ ms }) => duration(ms), isNumber: true },
  { name: 'code', of: ({ code }) => code },
  { name: 'message', of: ({ message }) => shortened(message, MESSAGE_CHARACTERS_MAX) },
];

/** Prints a job. */
export function showJob(printer: Printer, job: ResponseOf<'getJob'>): void {
  printer.fields({
    job: job.id,
    group: job.groupId,
    processor: job.processorType,
    state: job.status,
    queue: job.place,
    waits: job.reason === null ? undefined : `${job.reason}, until ${moment(job.dueAt)}`,
    tries: `${amount(job.attempts)}, ${amount(job.retryCount)} of them repeated`,
    lost: job.orphanCount > 0 ? `${amount(job.orphanCount)} times its worker vanished` : undefined,
    cost: job.cost === 1 ? undefined : amount(job.cost),
    created: moment(job.createdAt),
    'not before': job.notBefore === null ? undefined : moment(job.notBefore),
    deadline: job.deadline === null ? undefined : moment(job.deadline),
    started: job.startedAt === null ? undefined : moment(job.startedAt),
    ended: job.endedAt === null ? undefined : moment(job.endedAt),
    payload: job.payload === null ? undefined : valueText(job.payload),
    result: job.resultKept ? valueText(job.result) : undefined,
  });
  if (job.failedAttempts.length === 0) return;
  printer.line('');
  printer.table(ATTEMPT_COLUMNS, job.failedAttempts, '');
}

const valueText = (value: unknown): string => shortened(JSON.stringify(value), VALUE_CHARACTERS_MAX);
