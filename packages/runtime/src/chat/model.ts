import type { TaskStatus } from '../model.js';

/** A conversation. */
export interface ChatSession {
  /** Unique in its tenant's namespace; contains no `/`. */
  readonly id: string;
  /** Whose it is; '' = nobody's in particular. */
  readonly tenant: string;
  /** The W3C trace context of the request that made it; '' = none. */
  readonly traceparent: string;
  readonly createdAt: Date;
}

/** One message of a conversation. */
export interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /** The task of the turn it belongs to: a user message and its answer have the same. */
  readonly taskId: string;
  readonly createdAt: Date;
}

/** The receipt for a message that was accepted. */
export interface ChatReceipt {
  readonly sessionId: string;
  readonly taskId: string;
  readonly queuedAt: Date;
}

/** Where a turn is. */
export interface ChatTaskView extends ChatReceipt {
  readonly status: TaskStatus;
  readonly startedAt?: Date;
  readonly endedAt?: Date;
}

/** The answer of a completed turn. */
export interface ChatTaskResult extends ChatTaskView {
  readonly status: 'COMPLETED';
  readonly text: string;
}
