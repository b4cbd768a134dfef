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
import { defineRoute, INVALID, json, problems } from './route.js';

const tag = 'Chat';
const SESSION_NOT_FOUND =
  'CHAT_SESSION_NOT_FOUND: there is none of this id on this instance, or it is another tenant’s.';
const TASK_NOT_FOUND = `${SESSION_NOT_FOUND} CHAT_TASK_NOT_FOUND: the session has no such turn, or it ended too long ago.`;
const HERE =
  'Sessions live in the memory of the instance that made them: with several API instances, send all requests of a session to one of them (sticky routing).';
const INVALID_ID = `${INVALID} ID_INVALID: an id with more than one /.`;
const session = z.object({ sessionId: ChatSessionIdParam });
const task = session.extend({ taskId: ChatTaskIdParam });

/** Everything that can be asked about chats. */
export const CHAT_ROUTES = {
  createChatSession: defineRoute('createChatSession', {
    tag,
    summary: 'Make a session',
    description: `A conversation whose turns run one after the other. One that has the id already is answered. ${HERE}`,
    role: 'operate',
    tenancy: 'own',
    headers: { traceparent: 'W3C trace context; it travels with the turns of the session.' },
    body: CreateChatSessionRequest,
    answers: { 201: json('The session.', ChatSessionBody), ...problems({ 400: INVALID }) },
  }),
  listChatSessions: defineRoute('listChatSessions', {
    tag,
    summary: 'List sessions',
    description: `Newest first; the caller’s tenant only, or of all tenants for a key that is not limited to one. ${HERE}`,
    role: 'read',
    tenancy: 'own',
    query: ChatSessionListQuery,
    answers: { 200: json('The sessions.', ChatSessionList), ...problems({ 400: INVALID }) },
  }),
  getChatSession: defineRoute('getChatSession', {
    tag,
    summary: 'Read a session',
    description: `When it was made, its messages in the order of the conversation, and the turns that run or wait. ${HERE}`,
    role: 'read',
    tenancy: 'own',
    params: session,
    answers: {
      200: json('The session.', ChatMessagesBody),
      ...problems({ 400: INVALID_ID, 404: SESSION_NOT_FOUND }),
    },
  }),
  queueChatMessage: defineRoute('queueChatMessage', {
    tag,
    summary: 'Say something',
    description: `Queues a message and its turn. Turns of one session run in order, those of different sessions at once. A refused message is not stored. ${HERE}`,
    role: 'operate',
    tenancy: 'own',
    params: session,
    body: QueueChatMessageRequest,
    answers: {
      201: json('It is queued.', ChatReceiptBody),
      ...problems({
        400: `${INVALID_ID} CHAT_MESSAGE_EMPTY.`,
        404: SESSION_NOT_FOUND,
        413: 'CHAT_MESSAGE_TOO_LONG.',
        429: 'CHAT_QUEUE_FULL: too many turns wait; Retry-After says when to come back.',
        503: 'QUEUE_CLOSED: this instance is about to stop.',
      }),
    },
  }),
  getChatTaskStatus: defineRoute('getChatTaskStatus', {
    tag,
    summary: 'Look at a turn',
    description: 'Where a turn is; kept for half an hour after its end, unless set otherwise.',
    role: 'read',
    tenancy: 'own',
    params: task,
    answers: {
      200: json('The turn.', ChatTaskBody),
      ...problems({ 400: INVALID_ID, 404: TASK_NOT_FOUND }),
    },
  }),
  getChatTaskResult: defineRoute('getChatTaskResult', {
    tag,
    summary: 'Read the answer of a turn',
    description: 'The whole text of a turn that is complete.',
    role: 'read',
    tenancy: 'own',
    params: task,
    answers: {
      200: json('The answer.', ChatTaskResultBody),
      ...problems({
        400: INVALID_ID,
        404: TASK_NOT_FOUND,
        409: 'TASK_PENDING: it has not ended.',
        410: 'TASK_CANCELLED: it was cancelled.',
        502: 'CHAT_STREAM_ERROR: what answers has failed.',
      }),
    },
  }),
  streamChatTask: defineRoute('streamChatTask', {
    tag,
    summary: 'Stream a turn',
    description:
      'Server-sent events: start, token for each piece of the answer, then done or error, after which the stream closes. Each has a number as its id; Last-Event-ID n goes on at n + 1.',
    role: 'read',
    tenancy: 'own',
    streams: true,
    headers: { 'Last-Event-ID': 'The number of the last event that was received.' },
    params: task,
    answers: {
      200: { description: 'The stream.', contentType: 'text/event-stream', schema: ChatEvent },
      ...problems({
        400: INVALID_ID,
        404: TASK_NOT_FOUND,
        429: 'STREAMS_FULL: too many streams are open.',
      }),
    },
  }),
  cancelChatTask: defineRoute('cancelChatTask', {
    tag,
    summary: 'Cancel a turn',
    description:
      'A turn that waits never starts, one that runs is told to stop; its answer is not stored. One that has ended stays as it is. May be repeated.',
    role: 'operate',
    tenancy: 'own',
    audited: true,
    params: task,
    answers: {
      200: json('The turn after it.', ChatTaskBody),
      ...problems({ 400: INVALID_ID, 404: TASK_NOT_FOUND }),
    },
  }),
} as const;
