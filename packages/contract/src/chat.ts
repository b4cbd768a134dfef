import { z } from 'zod';
import { count, tenantField, time } from './fields.js';

/** The most sessions that a list shows. */
const SESSIONS_SHOWN_MAX = 100;

/** The id of a session that is there already. */
export const ChatSessionIdParam = z
  .string()
  .min(1)
  .max(1_000)
  .describe('The id of a session; tenant/id for keys that are not limited to a tenant.');

/** The id of a turn. */
export const ChatTaskIdParam = z.string().min(1).max(200).describe('The id of a turn.');

/** A session to make. Unknown fields are refused. */
export const CreateChatSessionRequest = z.strictObject({
  session_id: z
    .string()
    .max(200)
    .regex(/^[^/\p{Cc}\p{Surrogate}]+$/u, 'must be a text without / and control characters')
    .optional()
    .describe('Chosen by the caller, or drawn; a session of the tenant that has it already is answered.'),
  tenant: tenantField,
});
/** A session to make. */
export type CreateChatSessionRequest = z.infer<typeof CreateChatSessionRequest>;

/** A conversation. */
export const ChatSessionBody = z.object({
  session_id: z.string().describe('As the caller writes it in addresses.'),
  tenant: z.string().describe("'' for none."),
  created_at: time,
});
/** A conversation. */
export type ChatSessionBody = z.infer<typeof ChatSessionBody>;

/** What the list of sessions may be asked. Unknown parameters are refused. */
export const ChatSessionListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(SESSIONS_SHOWN_MAX).default(SESSIONS_SHOWN_MAX),
  tenant: tenantField,
});

/** The newest sessions. */
export const ChatSessionList = z.object({ items: z.array(ChatSessionBody) });
/** The newest sessions. */
export type ChatSessionList = z.infer<typeof ChatSessionList>;

/** Where a turn is. */
export const ChatTaskStatusName = z
  .enum(['QUEUED', 'RUNNING', 'STREAMING', 'COMPLETED', 'FAILED', 'CANCELLED'])
  .describe('The last three are ends and never change.');
/** Where a turn is. */
export type ChatTaskStatusName = z.infer<typeof ChatTaskStatusName>;

/** A session with its messages. */
export const ChatMessagesBody = ChatSessionBody.extend({
  messages: z
    .array(
      z.object({
        role: z.enum(['user', 'assistant']),
        content: z.string(),
        task_id: z.string().describe('The turn: a message and its answer have the same.'),
        created_at: time,
      }),
    )
    .describe('In the order of the conversation; an answer stands there when it is complete.'),
  turns: z
    .array(z.object({ task_id: z.string(), status: ChatTaskStatusName }))
    .describe(
      'Those that had not ended just before the messages were read, in their order, 20 at most; the first may be streamed while it answers.',
    ),
});
/** A session with its messages. */
export type ChatMessagesBody = z.infer<typeof ChatMessagesBody>;

/** A message to queue. Unknown fields are refused. */
export const QueueChatMessageRequest = z.strictObject({
  message: z.string().describe('What the user says: not only spaces, at most 100,000 characters.'),
});
/** A message to queue. */
export type QueueChatMessageRequest = z.infer<typeof QueueChatMessageRequest>;

/** The receipt for a message. */
export const ChatReceiptBody = z.object({
  session_id: z.string(),
  task_id: z.string(),
  queued_at: time,
});
/** The receipt for a message. */
export type ChatReceiptBody = z.infer<typeof ChatReceiptBody>;

/** Where a turn is. */
export const ChatTaskBody = ChatReceiptBody.extend({
  status: ChatTaskStatusName,
  started_at: time.nullable(),
  ended_at: time.nullable(),
});
/** Where a turn is. */
export type ChatTaskBody = z.infer<typeof ChatTaskBody>;

/** The answer of a completed turn. */
export const ChatTaskResultBody = ChatTaskBody.extend({ text: z.string() });
/** The answer of a completed turn. */
export type ChatTaskResultBody = z.infer<typeof ChatTaskResultBody>;

/** Names of the events of a turn: start, token for each piece of the answer, then done or error. */
export const CHAT_EVENTS = ['start', 'token', 'done', 'error'] as const;

/** One event of a turn's stream: its name, its number, its data. */
export const ChatEvent = z.object({
  type: z.enum(CHAT_EVENTS),
  id: count.describe('From 0; a stream that was cut goes on after the one in Last-Event-ID.'),
  data: z.object({
    text: z.string().optional().describe('token: a piece of the answer.'),
    snapshot: z
      .literal(true)
      .optional()
      .describe('token: the text is everything so far, since the pieces before it are kept no more.'),
    code: z.string().optional().describe('error: TASK_CANCELLED, CHAT_STREAM_ERROR and so on.'),
    message: z.string().optional().describe('error: what went wrong.'),
  }),
});
/** One event of a turn's stream. */
export type ChatEvent = z.infer<typeof ChatEvent>;
