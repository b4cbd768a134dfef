import type {
  ChatMessagesBody,
  ChatReceiptBody,
  ChatSessionBody,
  ChatTaskBody,
  ChatTaskResultBody,
} from '@millrace/contract';
import type { ScopedId } from '@millrace/foundation';
import type { StreamEvent } from '@millrace/runtime';
import type {
  ChatMessage,
  ChatReceipt,
  ChatSession,
  ChatTaskResult,
  ChatTaskView,
} from '@millrace/runtime/chat';
import { toIsoOrNull } from '../http/bodies.js';
import type { SentEvent } from '../http/send-events.js';

/**
 * The id of a session as its caller writes it: plain in the caller's own namespace.
 * @param ownTenant - the caller's; '' for none.
 */
export const writtenId = ({ tenant, id }: ScopedId, ownTenant: string): string =>
  tenant === ownTenant ? id : `${tenant}/${id}`;

/**
 * A session.
 * @param ownTenant - the caller's; '' for none.
 */
export const sessionBody = (session: ChatSession, ownTenant: string): ChatSessionBody => ({
  session_id: writtenId(session, ownTenant),
  tenant: session.tenant,
  created_at: session.createdAt.toISOString(),
});

/**
 * A session with its messages.
 * @param content - its messages, and its turns that have not ended.
 * @param ownTenant - the caller's; '' for none.
 */
export const messagesBody = (
  session: ChatSession,
  { messages, turns }: { readonly messages: readonly ChatMessage[]; readonly turns: readonly ChatTaskView[] },
  ownTenant: string,
): ChatMessagesBody => ({
  ...sessionBody(session, ownTenant),
  messages: messages.map(({ role, content, taskId, createdAt }) => ({
    role,
    content,
    task_id: taskId,
    created_at: createdAt.toISOString(),
  })),
  turns: turns.map(({ taskId, status }) => ({ task_id: taskId, status })),
});

/** The receipt for a message. */
export const receiptBody = (sessionId: string, receipt: ChatReceipt): ChatReceiptBody => ({
  session_id: sessionId,
  task_id: receipt.taskId,
  queued_at: receipt.queuedAt.toISOString(),
});

/** Where a turn is. */
export const taskBody = (sessionId: string, task: ChatTaskView): ChatTaskBody => ({
  ...receiptBody(sessionId, task),
  status: task.status,
  started_at: toIsoOrNull(task.startedAt),
  ended_at: toIsoOrNull(task.endedAt),
});

/** The answer of a turn. */
export const resultBody = (sessionId: string, result: ChatTaskResult): ChatTaskResultBody => ({
  ...taskBody(sessionId, result),
  text: result.text,
});

/** The events of a turn as they are sent. */
export async function* sentEvents(
  events: AsyncIterable<StreamEvent>,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const { offset: id, type: event, ...data } of events) yield { id, event, data };
}
