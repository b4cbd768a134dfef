import type { ChatMessagesBody, ChatTaskStatusName } from '@millrace/contract';
import { hasEnded, type TurnProgress } from './turn-progress.js';

/** What somebody said and what came of it. */
export interface Exchange {
  readonly taskId: string;
  /** undefined: only the answer is still kept. */
  readonly question: string | undefined;
  readonly askedAt: string | undefined;
  readonly answer: string | undefined;
  readonly answeredAt: string | undefined;
  /** undefined: it has no answer, it is not open, and this page has not seen how it ended. */
  readonly status: ChatTaskStatusName | undefined;
  /** Why it failed, where it did. */
  readonly problem: string | undefined;
}

/** What this page said itself. */
export interface Sent {
  readonly taskId: string;
  readonly message: string;
  readonly at: string;
}

/** What a conversation is made of. */
export interface ConversationFacts {
  readonly messages: ChatMessagesBody['messages'];
  /** Those that had not ended when the server was asked. */
  readonly turns: ChatMessagesBody['turns'];
  /** Said here: known before the server is asked again. */
  readonly sent: readonly Sent[];
  /** How turns ended whose stream was heard: the server keeps only answers that are complete. */
  readonly ends: ReadonlyMap<string, TurnProgress>;
}

/**
 * A conversation in its order, as far as it is known: an answer that is kept outweighs everything, an end that was heard outweighs a
 * list that was asked for before it.
 */
export function conversationOf({ messages, turns, sent, ends }: ConversationFacts): readonly Exchange[] {
  const open = new Map(turns.map(({ task_id, status }) => [task_id, status]));
  for (const { taskId } of sent) if (!open.has(taskId)) open.set(taskId, 'QUEUED');
  const said = new Map<string, { question?: Said; answer?: Said }>();
  const of = (taskId: string) => {
    const known = said.get(taskId) ?? {};
    said.set(taskId, known);
    return known;
  };
  for (const { role, content, task_id, created_at } of messages)
    of(task_id)[role === 'user' ? 'question' : 'answer'] = { text: content, at: created_at };
  for (const { taskId, message, at } of sent) of(taskId).question ??= { text: message, at };
  return [...said].map(([taskId, { question, answer }]) => {
    const end = answer ? undefined : ends.get(taskId);
    return {
      taskId,
      question: question?.text,
      askedAt: question?.at,
      answer: answer?.text ?? (end?.text || undefined),
      answeredAt: answer?.at,
      status: answer ? 'COMPLETED' : (end?.status ?? open.get(taskId)),
      problem: end?.problem,
    };
  });
}

interface Said {
  readonly text: string;
  readonly at: string;
}

/** Whether a turn runs or waits. */
export const isOpen = ({ status }: Pick<Exchange, 'status'>): boolean =>
  status !== undefined && !hasEnded(status);

/**
 * The id of a session without its tenant.
 * @param sessionId - as this caller writes it: `tenant/id` where it may look at all tenants.
 */
export const sessionName = (sessionId: string): string => sessionId.slice(sessionId.indexOf('/') + 1);
