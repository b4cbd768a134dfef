import {
  type ChatMessagesBody,
  type ChatReceiptBody,
  type ChatSessionBody,
  type ChatSessionList,
  type ChatTaskBody,
  type ChatTaskResultBody,
  ROUTES,
} from '@millrace/contract';
import { NO_TENANT, parseScopedId } from '@millrace/foundation';
import { Controller, Headers, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { requestInvalid } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { sendEvents } from '../http/send-events.js';
import { resolveTenant } from '../http/tenant-scope.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import type { Caller } from '../security/caller.js';
import {
  messagesBody,
  receiptBody,
  resultBody,
  sentEvents,
  sessionBody,
  taskBody,
  writtenId,
} from './bodies.js';
import { ChatHost } from './chat-host.js';

const {
  createChatSession: CREATE,
  listChatSessions: LIST,
  getChatSession: GET,
  queueChatMessage: QUEUE,
  getChatTaskStatus: STATUS,
  getChatTaskResult: RESULT,
  streamChatTask: STREAM,
  cancelChatTask: CANCEL,
} = ROUTES;

/** Serves chats. */
@Controller()
export class ChatController {
  readonly #host: ChatHost;
  readonly #parts: ServerParts;

  constructor(@Inject(ChatHost) host: ChatHost, @Inject(PARTS) parts: ServerParts) {
    this.#host = host;
    this.#parts = parts;
  }

  @HandleRoute(CREATE)
  async create(
    @RouteInput() { body, caller, traceparent }: ValidatedRequest<typeof CREATE>,
  ): Promise<ChatSessionBody> {
    const { session_id: sessionId } = body;
    const tenant = resolveTenant(caller, body.tenant);
    const session = await this.#host.chat.createSession({ sessionId, tenant, traceparent });
    return sessionBody(session, ownTenant(caller));
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { query, caller }: ValidatedRequest<typeof LIST>): Promise<ChatSessionList> {
    const tenant = resolveTenant(caller, query.tenant);
    const sessions = await this.#host.chat.listSessions({ tenant, limit: query.limit });
    return { items: sessions.map((session) => sessionBody(session, ownTenant(caller))) };
  }

  @HandleRoute(GET)
  async messages(@RouteInput() { params, caller }: ValidatedRequest<typeof GET>): Promise<ChatMessagesBody> {
    const { sessionId } = params;
    const { chat } = this.#host;
    const session = await chat.session(sessionId, caller);
    // First: of a turn that ends in between, either the turn or the answer is shown, or both.
    const turns = await chat.openTurns(sessionId, caller);
    const messages = await chat.messages(sessionId, caller);
    return messagesBody(session, { messages, turns }, ownTenant(caller));
  }

  @HandleRoute(QUEUE)
  async queue(
    @RouteInput() { params, body, caller }: ValidatedRequest<typeof QUEUE>,
  ): Promise<ChatReceiptBody> {
    const { sessionId } = params;
    const receipt = await this.#host.chat.enqueue(sessionId, body.message, caller);
    return receiptBody(shown(caller, sessionId), receipt);
  }

  @HandleRoute(STATUS)
  async status(@RouteInput() { params, caller }: ValidatedRequest<typeof STATUS>): Promise<ChatTaskBody> {
    const { sessionId, taskId } = params;
    return taskBody(shown(caller, sessionId), await this.#host.chat.status(sessionId, taskId, caller));
  }

  @HandleRoute(RESULT)
  async result(
    @RouteInput() { params, caller }: ValidatedRequest<typeof RESULT>,
  ): Promise<ChatTaskResultBody> {
    const { sessionId, taskId } = params;
    return resultBody(shown(caller, sessionId), await this.#host.chat.result(sessionId, taskId, caller));
  }

  @HandleRoute(STREAM)
  async stream(
    @RouteInput() { params, caller }: ValidatedRequest<typeof STREAM>,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { sessionId, taskId } = params;
    const { tenant } = caller;
    const fromOffset = offsetAfter(lastEventId);
    const open = async (signal: AbortSignal) =>
      sentEvents(await this.#host.chat.stream(sessionId, taskId, { tenant, fromOffset, signal }));
    await sendEvents(reply, open, this.#parts);
  }

  @HandleRoute(CANCEL)
  async cancel(@RouteInput() { params, caller }: ValidatedRequest<typeof CANCEL>): Promise<ChatTaskBody> {
    const { sessionId, taskId } = params;
    return taskBody(shown(caller, sessionId), await this.#host.chat.cancel(sessionId, taskId, caller));
  }
}

const ownTenant = ({ tenant }: Caller): string => tenant ?? NO_TENANT;

const shown = (caller: Caller, sessionId: string): string =>
  writtenId(parseScopedId(sessionId, ownTenant(caller)), ownTenant(caller));

/** At most 15 digits, which a number represents exactly. */
const EVENT_NUMBER = /^\d{1,15}$/;

/**
 * Returns the number of the first event to send.
 * @param lastEventId - the header `Last-Event-ID`: the number of the last event that the client received. Empty for none.
 * @throws MillraceError `REQUEST_INVALID`.
 */
function offsetAfter(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return 0;
  if (EVENT_NUMBER.test(lastEventId)) return Number(lastEventId) + 1;
  throw requestInvalid([{ field: 'Last-Event-ID', message: 'must be the number of an event' }]);
}
