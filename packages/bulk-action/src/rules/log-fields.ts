import { traceIdOf } from '@millrace/foundation';
import type { GroupKey } from '../model.js';
import { groupIdOf } from './ids.js';

/** What stands in every log line about one group. */
export interface GroupFields {
  readonly groupId: string;
  /** Of W3C; absent where the work belongs to no trace. */
  readonly traceId?: string;
}

/** What stands in every log line about one job. */
export interface JobFields extends GroupFields {
  readonly jobId: string;
}

/**
 * What a log line about a group begins with.
 * @param key - the group.
 * @param traceparent - of the group, or of the job that tells of it; '' or undefined for none.
 */
export function groupFields(key: GroupKey, traceparent?: string): GroupFields {
  const traceId = traceIdOf(traceparent);
  return { groupId: groupIdOf(key), ...(traceId !== undefined && { traceId }) };
}

/**
 * What a log line about a job begins with.
 * @param job - the job; its trace context, where that is known.
 */
export function jobFields(job: {
  readonly key: GroupKey;
  readonly jobId: string;
  readonly traceparent?: string | undefined;
}): JobFields {
  return { ...groupFields(job.key, job.traceparent), jobId: job.jobId };
}
