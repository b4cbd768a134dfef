import { traceIdOf } from '@millrace/foundation';

/** What stands in every log line about one batch. */
export interface BatchFields {
  readonly batchId: string;
  /** Of W3C; absent where the batch belongs to no trace. */
  readonly traceId?: string;
}

/** What stands in every log line about one task. */
export interface TaskFields extends BatchFields {
  readonly taskKey: string;
}

/**
 * What a log line about a batch begins with.
 * @param batch - its id, and its trace context where it has one.
 */
export function batchFields(batch: {
  readonly id: string;
  readonly traceparent: string | null | undefined;
}): BatchFields {
  const traceId = traceIdOf(batch.traceparent);
  return { batchId: batch.id, ...(traceId !== undefined && { traceId }) };
}

/** What a log line about a task begins with. */
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
