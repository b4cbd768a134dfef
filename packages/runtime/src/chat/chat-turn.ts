import { isAbortError } from '@millrace/async-utils';
import { type Clock, toWorkError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { TaskContext } from '../lanes/run-handler.js';
import type { ChatSession } from './model.js';
import type { ChatRuntime, ChatSessionStore } from './ports.js';

/** What a turn needs to run. */
export interface TurnInput {
  readonly session: ChatSession;
  readonly message: string;
  /** Resolves when the user's message is stored, or when it cannot be and the task has been cancelled for it. */
  readonly stored: Promise<void>;
}

/** What a turn works with. */
export interface TurnTools {
  readonly runtime: ChatRuntime;
  readonly store: ChatSessionStore;
  readonly clock: Clock;
}

/**
 * The handler of one turn: yields the answer and stores it when it is complete. The answer of a turn that failed or was
 * cancelled is not stored.
 * @throws MillraceError `CHAT_STREAM_ERROR` when the runtime fails.
 */
export async function* chatTurn(
  { runtime, store, clock }: TurnTools,
  { session, message, stored }: TurnInput,
  { signal, idempotencyKey: taskId }: TaskContext,
): AsyncGenerator<string, void, unknown> {
  await stored;
  if (signal.aborted) return;
  const all = await store.messages(session);
  // Messages of later turns may be stored already; this turn's own marks where they begin.
  const own = all.findIndex((other) => other.taskId === taskId);
  // Gone when the store could not keep it: then all that stood before it is, too.
  const history = all.slice(0, Math.max(0, own));
  if (signal.aborted) return;
  const { id: sessionId, tenant, traceparent } = session;
  const turn = { sessionId, tenant, traceparent, message, history, signal };
  let content = '';
  try {
    for await (const token of runtime.processEnqueuedTurn(turn)) {
      content += token;
      yield token;
    }
  } catch (error) {
    if (signal.aborted && isAbortError(error)) throw error;
    throw asStreamError(error);
  }
  if (signal.aborted || content === '') return;
  await store.append(session, { role: 'assistant', content, taskId, createdAt: new Date(clock.now()) });
}

/** Whatever a runtime throws has one code for the reader of the stream. */
function asStreamError(error: unknown): unknown {
  if (ERRORS.is(error, 'CHAT_STREAM_ERROR')) return error;
  const { message: reason, retryAfterMs } = toWorkError(error);
  return ERRORS.create('CHAT_STREAM_ERROR', { reason }, { cause: error, retryAfterMs });
}
