import { type LimitFunction, pLimit } from '@millrace/async-utils';
import {
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  formatScopedId,
  type Logger,
  NO_TENANT,
  parseScopedId,
  printable,
  type Rng,
  type Service,
  systemClock,
  systemRng,
  toWorkError,
  traceIdOf,
} from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { resolveTaskManagerConfig, type TaskManagerConfig } from '../lanes/options.js';
import { TaskManager, type TaskManagerStats } from '../lanes/task-manager.js';
import type { StreamEvent, TaskView } from '../model.js';
import { chatTurn, type TurnInput } from './chat-turn.js';
import { InMemoryChatSessionStore } from './in-memory-session-store.js';
import type { ChatMessage, ChatReceipt, ChatSession, ChatTaskResult, ChatTaskView } from './model.js';
import {
  type ChatServiceOptions,
  type ResolvedChatServiceOptions,
  resolveChatServiceOptions,
} from './options.js';
import type { ChatRuntime, ChatSessionStore } from './ports.js';
import { TenantRoom } from './tenant-room.js';

/** Of how many turns of a session that have not ended anybody is told. */
export const OPEN_TURNS_MAX = 20;

/** What a ChatService works with; all but the runtime has a default. */
export interface ChatServiceDependencies {
  /** What answers. */
  readonly runtime: ChatRuntime;
  /** Where sessions are kept; in this process unless given. */
  readonly store?: ChatSessionStore | undefined;
  /** The settings of the lanes that run the turns. */
  readonly tasks?: TaskManagerConfig | undefined;
  readonly clock?: Clock | undefined;
  /** For the ids of sessions and tasks. */
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
}

/** Who calls. */
export interface ChatCaller {
  /** A caller with a tenant sees only that tenant's sessions; one without reaches others as `tenant/id` (''). */
  readonly tenant?: string | undefined;
}

/** What a new session is made with. */
export interface NewChatSession extends ChatCaller {
  /** Chosen by the caller, or drawn; a session that has it already is given back. */
  readonly sessionId?: string | undefined;
  /** The W3C trace context of the request (''). */
  readonly traceparent?: string | undefined;
}

/**
 * Chat on lanes: one session's turns run in order, different sessions in parallel, answers stream while they come.
 *
 * A message is stored when its turn is accepted, an answer when its turn is complete, right behind its question.
 */
export class ChatService implements Service {
  readonly #options: ResolvedChatServiceOptions;
  readonly #store: ChatSessionStore;
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #tasks: TaskManager<TurnInput, void>;
  readonly #room: TenantRoom;
  /** One message of a session after the other: stored in the order in which their turns were accepted. */
  readonly #accepting = new Map<string, LimitFunction>();

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(dependencies: ChatServiceDependencies, options?: ChatServiceOptions) {
    const { runtime, store = new InMemoryChatSessionStore(), tasks } = dependencies;
    const { clock = systemClock, rng = systemRng(), log } = dependencies;
    if (typeof runtime?.processEnqueuedTurn !== 'function') {
      const expected = 'a ChatRuntime (with processEnqueuedTurn)';
      throw FOUNDATION_ERRORS.create('OPTION_INVALID', {
        owner: 'ChatService',
        option: 'runtime',
        expected,
        given: printable(runtime),
      });
    }
    this.#options = resolveChatServiceOptions(options);
    this.#store = store;
    this.#clock = clock;
    this.#rng = rng.fork('chat');
    this.#tasks = new TaskManager<TurnInput, void>(
      (input, context) => chatTurn({ runtime, store, clock }, input, context),
      { name: 'chat', ...tasks },
      { clock, rng, log },
    );
    this.#room = new TenantRoom(resolveTaskManagerConfig(tasks).queueMaxSize, this.#tasks);
  }

  /** How much the lanes hold now. */
  get stats(): TaskManagerStats {
    return this.#tasks.stats;
  }

  /**
   * Starts answering.
   * @throws MillraceError `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    return this.#tasks.start();
  }

  /** Refuses new messages, cancels turns that have not started, and lets running ones finish within their grace. */
  stop(): Promise<void> {
    return this.#tasks.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Makes a session, or gives the one that has this id in the tenant.
   * @param given - tenant, trace context, and an id if the caller chooses it.
   * @throws MillraceError `ID_INVALID` for an id with a `/` of another tenant, or an empty one.
   */
  async createSession(given: NewChatSession = {}): Promise<ChatSession> {
    const { sessionId = this.#drawId(), tenant = NO_TENANT, traceparent = '' } = given;
    // An id is created in the caller's own namespace only, so a tenant in it is an error and not an address.
    formatScopedId({ tenant, id: sessionId });
    const createdAt = new Date(this.#clock.now());
    return this.#store.create(Object.freeze({ id: sessionId, tenant, traceparent, createdAt }));
  }

  /**
   * Sessions, the newest first.
   * @param query - of one tenant ('' for none), or of all without it; `limit` at most and by default `listMax`.
   * @throws MillraceError `OPTION_INVALID` for a limit that is no integer from 1.
   */
  async listSessions(
    query: ChatCaller & { readonly limit?: number | undefined } = {},
  ): Promise<readonly ChatSession[]> {
    const { tenant, limit = this.#options.listMax } = query;
    if (!(Number.isSafeInteger(limit) && limit >= 1)) {
      const details = { owner: 'ChatService', option: 'limit', expected: 'an integer ≥ 1', given: limit };
      throw FOUNDATION_ERRORS.create('OPTION_INVALID', details);
    }
    return this.#store.list({ tenant, limit: Math.min(limit, this.#options.listMax) });
  }

  /**
   * One session.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `ID_INVALID`.
   */
  async session(sessionId: string, { tenant: own = NO_TENANT }: ChatCaller = {}): Promise<ChatSession> {
    const scoped = parseScopedId(sessionId, own);
    const mayReach = own === NO_TENANT || scoped.tenant === own;
    const session = mayReach ? await this.#store.find(scoped) : undefined;
    if (!session) throw sessionNotFound(sessionId);
    return session;
  }

  /**
   * The messages of a session in the order of the conversation.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `ID_INVALID`.
   */
  async messages(sessionId: string, caller?: ChatCaller): Promise<readonly ChatMessage[]> {
    return this.#store.messages(await this.session(sessionId, caller));
  }

  /**
   * The turns of a session that run or wait, in their order. Asked before the messages, nothing is missed: an answer stands there before its
   * turn ends.
   * @returns at most `OPEN_TURNS_MAX`.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `ID_INVALID`.
   */
  async openTurns(sessionId: string, caller?: ChatCaller): Promise<readonly ChatTaskView[]> {
    const session = await this.session(sessionId, caller);
    const open = this.#tasks.openTasks(formatScopedId(session), OPEN_TURNS_MAX);
    return open.map((task) => asChatTask(session.id, task));
  }

  /**
   * Accepts a message and its turn, or refuses both: a refused message is not stored.
   * @param message - what the user says; not only spaces.
   * @returns the receipt.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `CHAT_MESSAGE_EMPTY`, `CHAT_MESSAGE_TOO_LONG`, `CHAT_QUEUE_FULL` (of all, or of the tenant; with
   * `retryAfterMs`), `QUEUE_CLOSED` after `stop`, `ID_INVALID`; what the store throws.
   */
  async enqueue(sessionId: string, message: string, caller?: ChatCaller): Promise<ChatReceipt> {
    const max = this.#options.messageCharactersMax;
    if (typeof message !== 'string' || message.trim() === '') throw ERRORS.create('CHAT_MESSAGE_EMPTY', {});
    if (message.length > max) {
      throw ERRORS.create('CHAT_MESSAGE_TOO_LONG', { length: message.length, max });
    }
    const session = await this.session(sessionId, caller);
    return this.#oneAfterTheOther(formatScopedId(session), () => this.#accept(session, message));
  }

  /**
   * The events of a turn; see TaskManager.stream.
   * @param options - who asks, where to begin, and a signal that ends the reading.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `CHAT_TASK_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`.
   */
  async stream(
    sessionId: string,
    taskId: string,
    options: ChatCaller & {
      readonly fromOffset?: number | undefined;
      readonly signal?: AbortSignal | undefined;
    } = {},
  ): Promise<AsyncIterableIterator<StreamEvent, undefined>> {
    const { tenant, ...reading } = options;
    await this.#task(sessionId, taskId, { tenant });
    return this.#tasks.stream(taskId, reading);
  }

  /**
   * Where a turn is.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `CHAT_TASK_NOT_FOUND`, `ID_INVALID`.
   */
  async status(sessionId: string, taskId: string, caller?: ChatCaller): Promise<ChatTaskView> {
    return this.#task(sessionId, taskId, caller);
  }

  /**
   * The answer of a completed turn.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `CHAT_TASK_NOT_FOUND`, `TASK_PENDING`, `TASK_CANCELLED`,
   * `CHAT_STREAM_ERROR` when the turn failed, `ID_INVALID`.
   */
  async result(sessionId: string, taskId: string, caller?: ChatCaller): Promise<ChatTaskResult> {
    const view = await this.#task(sessionId, taskId, caller);
    try {
      const { text, status } = this.#tasks.result(taskId);
      return { ...view, status, text };
    } catch (error) {
      if (!ERRORS.is(error, 'TASK_FAILED')) throw error;
      if (ERRORS.is(error.cause, 'CHAT_STREAM_ERROR')) throw error.cause;
      const { message: reason } = toWorkError(error.cause);
      throw ERRORS.create('CHAT_STREAM_ERROR', { reason }, { cause: error.cause });
    }
  }

  /**
   * Cancels a turn; see TaskManager.cancel.
   * @throws MillraceError `CHAT_SESSION_NOT_FOUND`, `CHAT_TASK_NOT_FOUND`, `ID_INVALID`.
   */
  async cancel(sessionId: string, taskId: string, caller?: ChatCaller): Promise<ChatTaskView> {
    const { sessionId: id } = await this.#task(sessionId, taskId, caller);
    return asChatTask(id, this.#tasks.cancel(taskId));
  }

  async #accept(session: ChatSession, message: string): Promise<ChatReceipt> {
    const notStored = new AbortController();
    let markStored = () => {};
    const stored = new Promise<void>((resolve) => {
      markStored = resolve;
    });
    const task = await this.#enqueueTurn({ session, message, stored }, notStored.signal);
    const { id: taskId, queuedAt } = task;
    try {
      const known = await this.#store.append(session, {
        role: 'user',
        content: message,
        taskId,
        createdAt: queuedAt,
      });
      if (!known) throw sessionNotFound(session.id);
    } catch (error) {
      // Accepted, but not stored: the turn is taken back before it has asked the runtime anything.
      notStored.abort(error);
      throw error;
    } finally {
      markStored();
    }
    return { sessionId: session.id, taskId, queuedAt };
  }

  async #enqueueTurn(input: TurnInput, signal: AbortSignal): Promise<TaskView> {
    const { session } = input;
    const { tenant } = session;
    if (!this.#room.allows(tenant)) throw this.#full();
    try {
      const traceId = traceIdOf(session.traceparent);
      const logFields = { sessionId: session.id, ...(traceId !== undefined && { traceId }) };
      const task = await this.#tasks.enqueue({ key: formatScopedId(session), input, signal, logFields });
      this.#room.note(task.id, tenant);
      return task;
    } catch (error) {
      throw ERRORS.is(error, 'QUEUE_FULL') ? this.#full(error) : error;
    }
  }

  #full(cause?: unknown) {
    const retryAfterMs = this.#options.queueFullRetryMs;
    const retryAfterSeconds = Math.ceil(retryAfterMs / 1000);
    return ERRORS.create('CHAT_QUEUE_FULL', { retryAfterSeconds }, { cause, retryAfterMs });
  }

  async #oneAfterTheOther<T>(key: string, accept: () => Promise<T>): Promise<T> {
    const limit = this.#accepting.get(key) ?? pLimit(1);
    this.#accepting.set(key, limit);
    try {
      return await limit(accept);
    } finally {
      // Kept only while somebody is in it: a million sessions leave nothing behind.
      if (limit.activeCount + limit.pendingCount === 0) this.#accepting.delete(key);
    }
  }

  async #task(sessionId: string, taskId: string, caller?: ChatCaller): Promise<ChatTaskView> {
    const session = await this.session(sessionId, caller);
    try {
      const task = this.#tasks.status(taskId);
      // A task of another session is as unknown here as one that never was.
      if (task.key === formatScopedId(session)) return asChatTask(session.id, task);
    } catch (error) {
      if (!ERRORS.is(error, 'TASK_NOT_FOUND')) throw error;
    }
    throw ERRORS.create('CHAT_TASK_NOT_FOUND', { task: taskId, session: sessionId });
  }

  #drawId(): string {
    return this.#rng.integer(0, Number.MAX_SAFE_INTEGER).toString(36).padStart(11, '0');
  }
}

const sessionNotFound = (session: string) => ERRORS.create('CHAT_SESSION_NOT_FOUND', { session });

function asChatTask(sessionId: string, { id: taskId, key: _, ...times }: TaskView): ChatTaskView {
  return { sessionId, taskId, ...times };
}
