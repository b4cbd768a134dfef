import { z } from 'zod';
import { count, tenantField, time } from './fields.js';
import { defineRoutes, eventStream, json } from './route.js';

const SESSIONS_LISTED_MAX = 100;

/** A session to create. Unknown fields are refused. */
export const CreateChatSessionRequest = z.strictObject({
  session_id: z
    .string()
    .max(200)
    .regex(/^[^/\p{Cc}\p{Surrogate}]+$/u, 'must be a text without / and control characters')
    .optional()
    .describe('The id (random). An existing session of the tenant with this id is returned.'),
  tenant: tenantField,
});

/** A session: one conversation. */
export const ChatSessionBody = z.object({
  session_id: z.string().describe('As the caller writes it in URLs.'),
  tenant: z.string().describe("'' for no tenant."),
  created_at: time,
});
export type ChatSessionBody = z.infer<typeof ChatSessionBody>;

/** The newest sessions. */
export const ChatSessionList = z.object({ items: z.array(ChatSessionBody) });
export type ChatSessionList = z.infer<typeof ChatSessionList>;

/** The status of a turn. */
export const ChatTaskStatusName = z
  .enum(['QUEUED', 'RUNNING', 'STREAMING', 'COMPLETED', 'FAILED', 'CANCELLED'])
  .describe('COMPLETED, FAILED and CANCELLED are final.');
export type ChatTaskStatusName = z.infer<typeof ChatTaskStatusName>;

/** A session with its messages. */
export const ChatMessagesBody = ChatSessionBody.extend({
  messages: z
    .array(
      z.object({
        role: z.enum(['user', 'assistant']),
        content: z.string(),
        task_id: z.string().describe('The turn: the same for a message and its answer.'),
        created_at: time,
      }),
    )
    .describe('In the order of the conversation. An answer is included when it is complete.'),
  turns: z
    .array(z.object({ task_id: z.string(), status: ChatTaskStatusName }))
    .describe(
      'Turns that had not ended just before the messages were read, in order, 20 at most. The first may stream its answer.',
    ),
});
export type ChatMessagesBody = z.infer<typeof ChatMessagesBody>;

/** A message to queue. Unknown fields are refused. */
export const QueueChatMessageRequest = z.strictObject({
  message: z.string().describe('The text of the user: not blank, at most 100,000 characters.'),
});

/** The response to a queued message. */
export const ChatReceiptBody = z.object({
  session_id: z.string(),
  task_id: z.string(),
  queued_at: time,
});
export type ChatReceiptBody = z.infer<typeof ChatReceiptBody>;

/** A turn. */
export const ChatTaskBody = ChatReceiptBody.extend({
  status: ChatTaskStatusName,
  started_at: time.nullable(),
  ended_at: time.nullable(),
});
export type ChatTaskBody = z.infer<typeof ChatTaskBody>;

/** A completed turn with its text. */
export const ChatTaskResultBody = ChatTaskBody.extend({ text: z.string() });
export type ChatTaskResultBody = z.infer<typeof ChatTaskResultBody>;

/** An event of a turn's stream: start, token for each piece of the text, then done or error. */
export const ChatEvent = z.object({
  type: z.enum(['start', 'token', 'done', 'error']),
  id: count.describe('Number of the event, from 0. A stream resumes after the one in Last-Event-ID.'),
  data: z.object({
    text: z.string().optional().describe('token: a piece of the text.'),
    snapshot: z
      .literal(true)
      .optional()
      .describe('token: text is the whole text so far, because earlier pieces are no longer kept.'),
    code: z.string().optional().describe('error: TASK_CANCELLED, CHAT_STREAM_ERROR and so on.'),
    message: z.string().optional().describe('error: the reason.'),
  }),
});
export type ChatEvent = z.infer<typeof ChatEvent>;

const STICKY =
  'Sessions live in the memory of the instance that created them. With several API instances, send all requests of a session to one of them (sticky routing).';

const CHAT = { tag: 'Chat', tenancy: 'own', fails: ['REQUEST_INVALID'] } as const;

export const CHAT_ROUTES = defineRoutes(CHAT, {
  createChatSession: {
    summary: 'Create a session',
    description: `A conversation whose turns run one after the other. An existing session with this id is returned. ${STICKY}`,
    headers: { traceparent: 'W3C trace context, passed on to the turns of the session.' },
    body: CreateChatSessionRequest,
    ok: { 201: json('The session', ChatSessionBody) },
  },
  listChatSessions: {
    summary: 'List sessions',
    description: `Newest first. A key that belongs to a tenant lists that tenant only. ${STICKY}`,
    query: z.strictObject({
      limit: z.coerce.number().int().min(1).max(SESSIONS_LISTED_MAX).default(SESSIONS_LISTED_MAX),
      tenant: tenantField,
    }),
    ok: ChatSessionList,
  },
  getChatSession: {
    summary: 'Get a session',
    description: `Its messages in order, and the turns that run or wait. ${STICKY}`,
    ok: ChatMessagesBody,
  },
  queueChatMessage: {
    summary: 'Send a message',
    description: `Queues a message and its turn. Turns of one session run in order, those of different sessions at the same time. A refused message is not stored. ${STICKY}`,
    body: QueueChatMessageRequest,
    ok: { 201: json('The message is queued', ChatReceiptBody) },
    fails: ['CHAT_MESSAGE_EMPTY', 'CHAT_MESSAGE_TOO_LONG', 'CHAT_QUEUE_FULL', 'QUEUE_CLOSED'],
  },
  getChatTaskStatus: {
    summary: 'Get the status of a turn',
    description: 'Kept for half an hour after the end of the turn by default.',
    ok: ChatTaskBody,
  },
  getChatTaskResult: {
    summary: 'Get the text of a turn',
    description: 'The whole text of a completed turn.',
    ok: ChatTaskResultBody,
    fails: ['TASK_PENDING', 'TASK_CANCELLED', 'CHAT_STREAM_ERROR'],
  },
  streamChatTask: {
    summary: 'Stream a turn',
    description:
      'Server-sent events: start, token for each piece of the text, then done or error, after which the stream closes. ' +
      'The id of each event is its number; Last-Event-ID n resumes at n + 1.',
    streams: true,
    headers: { 'Last-Event-ID': 'Number of the last event that the client received.' },
    ok: { 200: eventStream(ChatEvent) },
  },
  cancelChatTask: {
    summary: 'Cancel a turn',
    description:
      'A turn that waits never starts. A turn that runs is aborted and its text is not stored. A turn that has ended does not change. Safe to repeat.',
    audited: true,
    ok: ChatTaskBody,
  },
});
