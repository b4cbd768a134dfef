import { traceIdOf } from '@millrace/foundation';
import type { OpId } from '../op-id.js';

/** What stands in every log line about one operation. */
export interface OperationFields {
  readonly opId: OpId;
  /** Of W3C; absent where the operation belongs to no trace. */
  readonly traceId?: string;
}

/** What a log line about an operation begins with. */
export function operationFields({
  opId,
  traceparent,
}: {
  readonly opId: OpId;
  readonly traceparent: string | undefined;
}): OperationFields {
  const traceId = traceIdOf(traceparent);
  return traceId === undefined ? { opId } : { opId, traceId };
}
