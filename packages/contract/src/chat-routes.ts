import { z } from 'zod';
import {
  ChatEvent,
  ChatMessagesBody,
  ChatReceiptBody,
  ChatSessionBody,
  ChatSessionIdParam,
  ChatSessionList,
  ChatSessionListQuery,
  ChatTaskBody,
  ChatTaskIdParam,
  ChatTaskResultBody,
  CreateChatSessionRequest,
  QueueChatMessageRequest,
} from './chat.js';
import { defineRoutes, eventStream, json } from './route.js';

const STICKY =
  'Sessions live in the memory of the instance that created them. With several API instances, send all requests of a session to one of them (sticky routing).';
const session = z.object({ sessionId: ChatSessionIdParam });
const task = session.extend({ taskId: ChatTaskIdParam });
const SESSION_FAILS = ['ID_INVALID', 'CHAT_SESSION_NOT_FOUND'] as const;
const TASK_FAILS = [...SESSION_FAILS, 'CHAT_TASK_NOT_FOUND'] as const;

/** Routes of chat sessions and their turns. */
export const CHAT_ROUTES = defineRoutes(
  { tag: 'Chat', tenancy: 'own', fails: ['REQUEST_INVALID'] },
  {
    createChatSession: {
      summary: 'Create a session',
      description: `A conversation whose turns run one after the other. An existing session with this id is returned. ${STICKY}`,
      role: 'operate',
      headers: { traceparent: 'W3C trace context, passed on to the turns of the session.' },
      body: CreateChatSessionRequest,
      ok: { 201: json('The session', ChatSessionBody) },
    },
    listChatSessions: {
      summary: 'List sessions',
      description: `Newest first. A key that belongs to a tenant lists that tenant only. ${STICKY}`,
      role: 'read',
      query: ChatSessionListQuery,
      ok: ChatSessionList,
    },
    getChatSession: {
      summary: 'Get a session',
      description: `Its messages in order, and the turns that run or wait. ${STICKY}`,
      role: 'read',
      params: session,
      ok: ChatMessagesBody,
      fails: SESSION_FAILS,
    },
    queueChatMessage: {
      summary: 'Send a message',
      description: `Queues a message and its turn. Turns of one session run in order, those of different sessions at the same time. A refused message is not stored. ${STICKY}`,
      role: 'operate',
      params: session,
      body: QueueChatMessageRequest,
      ok: { 201: json('The message is queued', ChatReceiptBody) },
      fails: [
        ...SESSION_FAILS,
        'CHAT_MESSAGE_EMPTY',
        'CHAT_MESSAGE_TOO_LONG',
        'CHAT_QUEUE_FULL',
        'QUEUE_CLOSED',
      ],
    },
    getChatTaskStatus: {
      summary: 'Get the status of a turn',
      description: 'Kept for half an hour after the end of the turn by default.',
      role: 'read',
      params: task,
      ok: ChatTaskBody,
      fails: TASK_FAILS,
    },
    getChatTaskResult: {
      summary: 'Get the text of a turn',
      description: 'The whole text of a completed turn.',
      role: 'read',
      params: task,
      ok: ChatTaskResultBody,
      fails: [...TASK_FAILS, 'TASK_PENDING', 'TASK_CANCELLED', 'CHAT_STREAM_ERROR'],
    },
    streamChatTask: {
      summary: 'Stream a turn',
      description:
        'Server-sent events: start, token for each piece of the text, then done or error, after which the stream closes. ' +
        'The id of each event is its number; Last-Event-ID n resumes at n + 1.',
      role: 'read',
      streams: true,
      headers: { 'Last-Event-ID': 'Number of the last event that the client received.' },
      params: task,
      ok: { 200: eventStream(ChatEvent) },
      fails: TASK_FAILS,
    },
    cancelChatTask: {
      summary: 'Cancel a turn',
      description:
        'A turn that waits never starts. A turn that runs is aborted and its text is not stored. A turn that has ended does not change. Safe to repeat.',
      role: 'operate',
      audited: true,
      params: task,
      ok: ChatTaskBody,
      fails: TASK_FAILS,
    },
  },
);
