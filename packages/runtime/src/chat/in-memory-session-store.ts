import {
  integerOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  type ScopedId,
} from '@millrace/foundation';
import type { ChatMessage, ChatSession } from './model.js';
import type { ChatSessionStore } from './ports.js';

/** The limits of an InMemoryChatSessionStore, complete. */
export interface ResolvedInMemorySessionStoreOptions {
  /** Sessions kept, over all tenants; of the tenant that has most of them, the one that was quiet longest goes first. */
  readonly maxSessions: number;
  /** Messages kept in each session; the oldest go first. */
  readonly maxMessages: number;
  /**
   * Characters kept, over all tenants, each message counted with 100 more than its text has; of the tenant that has most of them, the session that was
   * quiet longest goes first, and of its only one the oldest messages.
   */
  readonly charactersMax: number;
}

/** The limits of an InMemoryChatSessionStore as given. */
export type InMemorySessionStoreOptions = PartialOptions<ResolvedInMemorySessionStoreOptions>;

/** What holds when nothing is given. */
export const IN_MEMORY_SESSION_STORE_DEFAULTS: ResolvedInMemorySessionStoreOptions = Object.freeze({
  maxSessions: 10_000,
  maxMessages: 1000,
  charactersMax: 64_000_000,
});

const SPEC: OptionSpec<ResolvedInMemorySessionStoreOptions> = {
  owner: 'InMemoryChatSessionStore',
  defaults: IN_MEMORY_SESSION_STORE_DEFAULTS,
  rules: {
    maxSessions: integerOption({ min: 1 }),
    maxMessages: integerOption({ min: 1 }),
    charactersMax: integerOption({ min: 1 }),
  },
};

/** What a message takes besides its text, about: ten million messages of one letter are gigabytes. */
const MESSAGE_OVERHEAD = 100;

/** How many characters a message counts. */
export const charactersOf = ({ content }: ChatMessage): number => content.length + MESSAGE_OVERHEAD;

interface Conversation {
  readonly session: ChatSession;
  readonly messages: ChatMessage[];
  characters: number;
  /** When something happened in it last, counted in such events. */
  heardAt: number;
}

/** What one tenant has here. */
interface Holding {
  /** By id; quiet ones first, since whatever gets a message moves to the end. */
  readonly conversations: Map<string, Conversation>;
  characters: number;
}

/**
 * Keeps sessions in this process, within limits; they end with it. When a limit is reached, who has most gives way: a tenant with less than an equal
 * part loses nothing to others, whatever they do.
 */
export class InMemoryChatSessionStore implements ChatSessionStore {
  readonly #options: ResolvedInMemorySessionStoreOptions;
  /** By tenant; none without a session. */
  readonly #holdings = new Map<string, Holding>();
  #sessions = 0;
  #characters = 0;
  #events = 0;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(options?: InMemorySessionStoreOptions) {
    this.#options = resolveOptions(SPEC, options);
  }

  async create(session: ChatSession): Promise<ChatSession> {
    const known = this.#find(session);
    if (known) return known.session;
    const { tenant, id } = session;
    const holding = this.#holdings.get(tenant) ?? { conversations: new Map(), characters: 0 };
    const made: Conversation = { session, messages: [], characters: 0, heardAt: ++this.#events };
    this.#holdings.set(tenant, holding);
    holding.conversations.set(id, made);
    this.#sessions++;
    if (this.#sessions > this.#options.maxSessions) {
      // There is always one: when nobody has more than the new session's tenant with that one alone, others have as much.
      const quietest = this.#quietest(({ conversations }) => conversations.size, made);
      if (quietest) this.#drop(quietest);
    }
    return session;
  }

  async find(session: ScopedId): Promise<ChatSession | undefined> {
    return this.#find(session)?.session;
  }

  async list({
    tenant,
    limit,
  }: {
    readonly tenant?: string | undefined;
    readonly limit: number;
  }): Promise<ChatSession[]> {
    const holdings = tenant === undefined ? [...this.#holdings.values()] : [this.#holdings.get(tenant)];
    return holdings
      .flatMap((holding) => [...(holding?.conversations.values() ?? [])])
      .map(({ session }) => session)
      .reverse()
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
      .slice(0, limit);
  }

  async append(session: ScopedId, message: ChatMessage): Promise<boolean> {
    const conversation = this.#find(session);
    const holding = this.#holdings.get(session.tenant);
    if (!conversation || !holding) return false;
    const { messages } = conversation;
    const asked = messages.findLastIndex(({ taskId }) => taskId === message.taskId);
    // A question may already stand behind the one that this answers.
    messages.splice(asked < 0 ? messages.length : asked + 1, 0, message);
    this.#count(conversation, charactersOf(message));
    if (messages.length > this.#options.maxMessages) this.#forgetOldest(conversation);
    conversation.heardAt = ++this.#events;
    holding.conversations.delete(session.id);
    holding.conversations.set(session.id, conversation);
    while (this.#characters > this.#options.charactersMax) {
      const quietest = this.#quietest(({ characters }) => characters, conversation);
      if (quietest) this.#drop(quietest);
      // Its own tenant has most, and nothing else: the message may be too large even alone, and then it is not kept.
      else this.#forgetOldest(conversation);
    }
    return true;
  }

  async messages(session: ScopedId): Promise<ChatMessage[]> {
    return [...(this.#find(session)?.messages ?? [])];
  }

  #find(session: ScopedId): Conversation | undefined {
    return this.#holdings.get(session.tenant)?.conversations.get(session.id);
  }

  /**
   * Of the tenants that have most, what was quiet longest; undefined when that can only be the one that has to stay.
   */
  #quietest(amountOf: (holding: Holding) => number, staying: Conversation): Conversation | undefined {
    let most = 0;
    let found: Conversation | undefined;
    for (const holding of this.#holdings.values()) {
      const amount = amountOf(holding);
      if (amount < most) continue;
      const quietest = firstOtherThan(staying, holding.conversations.values());
      if (amount > most) found = quietest;
      else if (quietest && (!found || quietest.heardAt < found.heardAt)) found = quietest;
      most = amount;
    }
    return found;
  }

  #forgetOldest(conversation: Conversation): void {
    const oldest = conversation.messages.shift();
    if (oldest) this.#count(conversation, -charactersOf(oldest));
  }

  #drop(conversation: Conversation): void {
    const { tenant, id } = conversation.session;
    this.#count(conversation, -conversation.characters);
    const holding = this.#holdings.get(tenant);
    holding?.conversations.delete(id);
    if (holding?.conversations.size === 0) this.#holdings.delete(tenant);
    this.#sessions--;
  }

  #count(conversation: Conversation, characters: number): void {
    const holding = this.#holdings.get(conversation.session.tenant);
    if (holding) holding.characters += characters;
    conversation.characters += characters;
    this.#characters += characters;
  }
}

function firstOtherThan(
  staying: Conversation,
  conversations: Iterable<Conversation>,
): Conversation | undefined {
  for (const conversation of conversations) if (conversation !== staying) return conversation;
  return undefined;
}
