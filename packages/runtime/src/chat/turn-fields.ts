import { traceIdOf } from '@millrace/foundation';
import type { ChatSession } from './model.js';

/** What stands in every log line about a turn, besides its task. */
export interface TurnFields {
  readonly sessionId: string;
  /** Of W3C; absent where the session belongs to no trace. */
  readonly traceId?: string;
}

/** What log lines about the turns of a session have. */
export function turnFields({ id: sessionId, traceparent }: ChatSession): TurnFields {
  const traceId = traceIdOf(traceparent);
  return traceId === undefined ? { sessionId } : { sessionId, traceId };
}
