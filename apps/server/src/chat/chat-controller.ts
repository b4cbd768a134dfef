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
import { Ask, type Asked, Serve } from '../http/asked.js';
import { meantTenant } from '../http/meant-tenant.js';
import { sendEvents } from '../http/send-events.js';
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
import { offsetAfter } from './offset-after.js';

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

/** Chats over HTTP: see ROUTES of `@millrace/contract`. */
@Controller()
export class ChatController {
  readonly #host: ChatHost;
  readonly #parts: ServerParts;

  constructor(@Inject(ChatHost) host: ChatHost, @Inject(PARTS) parts: ServerParts) {
    this.#host = host;
    this.#parts = parts;
  }

  @Serve(CREATE)
  async create(@Ask() { body, caller, traceparent }: Asked<typeof CREATE>): Promise<ChatSessionBody> {
    const { session_id: sessionId } = body;
    const tenant = meantTenant(caller, body.tenant);
    const session = await this.#host.chat.createSession({ sessionId, tenant, traceparent });
    return sessionBody(session, ownTenant(caller));
  }

  @Serve(LIST)
  async list(@Ask() { query, caller }: Asked<typeof LIST>): Promise<ChatSessionList> {
    const tenant = meantTenant(caller, query.tenant);
    const sessions = await this.#host.chat.listSessions({ tenant, limit: query.limit });
    return { items: sessions.map((session) => sessionBody(session, ownTenant(caller))) };
  }

  @Serve(GET)
  async messages(@Ask() { params, caller }: Asked<typeof GET>): Promise<ChatMessagesBody> {
    const { sessionId } = params;
    const { chat } = this.#host;
    const session = await chat.session(sessionId, caller);
    // First: of a turn that ends in between, either the turn or the answer is shown, or both.
    const turns = await chat.openTurns(sessionId, caller);
    const messages = await chat.messages(sessionId, caller);
    return messagesBody(session, { messages, turns }, ownTenant(caller));
  }

  @Serve(QUEUE)
  async queue(@Ask() { params, body, caller }: Asked<typeof QUEUE>): Promise<ChatReceiptBody> {
    const { sessionId } = params;
    const receipt = await this.#host.chat.enqueue(sessionId, body.message, caller);
    return receiptBody(shown(caller, sessionId), receipt);
  }

  @Serve(STATUS)
  async status(@Ask() { params, caller }: Asked<typeof STATUS>): Promise<ChatTaskBody> {
    const { sessionId, taskId } = params;
    return taskBody(shown(caller, sessionId), await this.#host.chat.status(sessionId, taskId, caller));
  }

  @Serve(RESULT)
  async result(@Ask() { params, caller }: Asked<typeof RESULT>): Promise<ChatTaskResultBody> {
    const { sessionId, taskId } = params;
    return resultBody(shown(caller, sessionId), await this.#host.chat.result(sessionId, taskId, caller));
  }

  @Serve(STREAM)
  async stream(
    @Ask() { params, caller }: Asked<typeof STREAM>,
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

  @Serve(CANCEL)
  async cancel(@Ask() { params, caller }: Asked<typeof CANCEL>): Promise<ChatTaskBody> {
    const { sessionId, taskId } = params;
    return taskBody(shown(caller, sessionId), await this.#host.chat.cancel(sessionId, taskId, caller));
  }
}

const ownTenant = ({ tenant }: Caller): string => tenant ?? NO_TENANT;

const shown = (caller: Caller, sessionId: string): string =>
  writtenId(parseScopedId(sessionId, ownTenant(caller)), ownTenant(caller));
