import {
  formatScopedId,
  type GivenOptions,
  integerOption,
  type OptionSpec,
  resolveOptions,
  type ScopedId,
} from '@millrace/foundation';
import type { ChatMessage, ChatSession } from './model.js';
import type { ChatSessionStore } from './ports.js';

/** The limits of an InMemoryChatSessionStore, complete. */
export interface ResolvedInMemorySessionStoreOptions {
  /** Sessions kept, over all tenants; the one that was quiet longest goes first. */
  readonly maxSessions: number;
  /** Messages kept in each session; the oldest go first. */
  readonly maxMessages: number;
}

/** The limits of an InMemoryChatSessionStore as given. */
export type InMemorySessionStoreOptions = GivenOptions<ResolvedInMemorySessionStoreOptions>;

/** What holds when nothing is given. */
export const IN_MEMORY_SESSION_STORE_DEFAULTS: ResolvedInMemorySessionStoreOptions = Object.freeze({
  maxSessions: 10_000,
  maxMessages: 1000,
});

const SPEC: OptionSpec<ResolvedInMemorySessionStoreOptions> = {
  owner: 'InMemoryChatSessionStore',
  defaults: IN_MEMORY_SESSION_STORE_DEFAULTS,
  rules: { maxSessions: integerOption({ min: 1 }), maxMessages: integerOption({ min: 1 }) },
};

interface Conversation {
  readonly session: ChatSession;
  readonly messages: ChatMessage[];
}

/** Keeps sessions in this process, within limits; they end with it. */
export class InMemoryChatSessionStore implements ChatSessionStore {
  readonly #options: ResolvedInMemorySessionStoreOptions;
  /** By `tenant/id`; quiet ones first, since whatever gets a message moves to the end. */
  readonly #conversations = new Map<string, Conversation>();

  /**
   * @param options - see InMemorySessionStoreOptions.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(options?: InMemorySessionStoreOptions) {
    this.#options = resolveOptions(SPEC, options);
  }

  async create(session: ChatSession): Promise<ChatSession> {
    const key = formatScopedId(session);
    const known = this.#conversations.get(key);
    if (known) return known.session;
    this.#conversations.set(key, { session, messages: [] });
    if (this.#conversations.size > this.#options.maxSessions) {
      const [quietest = ''] = this.#conversations.keys();
      this.#conversations.delete(quietest);
    }
    return session;
  }

  async find(session: ScopedId): Promise<ChatSession | undefined> {
    return this.#conversations.get(formatScopedId(session))?.session;
  }

  async list({ tenant, limit }: { readonly tenant: string; readonly limit: number }): Promise<ChatSession[]> {
    const sessions = [...this.#conversations.values()].map(({ session }) => session);
    return sessions
      .reverse()
      .filter((session) => session.tenant === tenant)
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
      .slice(0, limit);
  }

  async append(session: ScopedId, message: ChatMessage): Promise<boolean> {
    const key = formatScopedId(session);
    const conversation = this.#conversations.get(key);
    if (!conversation) return false;
    const { messages } = conversation;
    const asked = messages.findLastIndex(({ taskId }) => taskId === message.taskId);
    // A question may already stand behind the one that this answers.
    messages.splice(asked < 0 ? messages.length : asked + 1, 0, message);
    if (messages.length > this.#options.maxMessages) messages.shift();
    this.#conversations.delete(key);
    this.#conversations.set(key, conversation);
    return true;
  }

  async messages(session: ScopedId): Promise<ChatMessage[]> {
    return [...(this.#conversations.get(formatScopedId(session))?.messages ?? [])];
  }
}
