import { traceIdOf } from '@millrace/foundation';

/** The fields of every log line about a batch. */
export interface BatchFields {
  readonly batchId: string;
  /** W3C trace id. Missing if the batch belongs to no trace. */
  readonly traceId?: string;
}

/** The fields of every log line about a task. */
export interface TaskFields extends BatchFields {
  readonly taskKey: string;
}

/** Returns the fields of a log line about a batch. */
export function batchFields(batch: {
  readonly id: string;
  readonly traceparent: string | null | undefined;
}): BatchFields {
  const traceId = traceIdOf(batch.traceparent);
  return { batchId: batch.id, ...(traceId !== undefined && { traceId }) };
}

/** Returns the fields of a log line about a task. */
export function taskFields({
  batchId: id,
  taskKey,
  traceparent,
}: {
  readonly batchId: string;
  readonly taskKey: string;
  readonly traceparent: string | null | undefined;
}): TaskFields {
  return { ...batchFields({ id, traceparent }), taskKey };
}
