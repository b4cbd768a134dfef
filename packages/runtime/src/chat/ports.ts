import type { ScopedId } from '@millrace/foundation';
import type { ChatMessage, ChatSession } from './model.js';

/** One turn of a conversation, as a model gets it. */
export interface ChatTurn {
  readonly sessionId: string;
  readonly tenant: string;
  /** The trace context to hand on; '' = none. */
  readonly traceparent: string;
  /** What the user said. */
  readonly message: string;
  /** The conversation before this turn, as it was when the turn started. */
  readonly history: readonly Pick<ChatMessage, 'role' | 'content'>[];
  /** Aborts when the turn is cancelled: stop then. */
  readonly signal: AbortSignal;
}

/** What answers: a model, near or far. */
export interface ChatRuntime {
  /** Answers one turn, piece by piece. Turns of one session never overlap. */
  processEnqueuedTurn(turn: ChatTurn): AsyncIterable<string>;
}

/** Where sessions and messages are kept. */
export interface ChatSessionStore {
  /**
   * Keeps a new session.
   * @returns the session; the one that is there already when the id is taken in its tenant.
   */
  create(session: ChatSession): Promise<ChatSession>;
  /** One session, or undefined. */
  find(session: ScopedId): Promise<ChatSession | undefined>;
  /** Sessions of one tenant, or of all where none is named, the newest first, at most `limit`. */
  list(query: {
    readonly tenant?: string | undefined;
    readonly limit: number;
  }): Promise<readonly ChatSession[]>;
  /**
   * Adds a message: a user's at the end, an answer right behind the user's message of the same task.
   * @returns false when the session is gone.
   */
  append(session: ScopedId, message: ChatMessage): Promise<boolean>;
  /** The messages of a session in the order of the conversation; none when it is gone. */
  messages(session: ScopedId): Promise<readonly ChatMessage[]>;
}
