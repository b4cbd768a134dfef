import { ProblemError, type ServerClient } from '@millrace/contract/server-client';
import { DESK } from '../../demo/plan.js';
import type { ChatFacts } from './facts.js';

/** The most of one answer that is remembered: what is shown has room for less. */
const ANSWER_CHARACTERS_MAX = 2_000;

const isGone = (error: unknown): boolean => error instanceof ProblemError && error.status === 404;

/** Reads along with the chat turns of a demo, one after the other, as they are streamed. */
export class ChatWatch {
  readonly #client: ServerClient;
  readonly #run: string;
  readonly #signal: AbortSignal;
  readonly #known = new Set<string>();
  #following: Promise<void> | undefined;
  #facts: ChatFacts = { turns: 0, answered: 0, pieces: 0, question: '', answer: '', isStreaming: false };

  constructor(client: ServerClient, run: string, signal: AbortSignal) {
    this.#client = client;
    this.#run = run;
    this.#signal = signal;
  }

  /** What is known now. */
  get facts(): ChatFacts {
    return this.#facts;
  }

  /**
   * Looks for a turn that was not read yet, and begins to read it.
   * @throws ProblemError and what `fetch` throws.
   */
  async look(): Promise<void> {
    const { items } = await this.#client.call(
      'listChatSessions',
      { query: { tenant: DESK } },
      { signal: this.#signal },
    );
    const own = items.map(({ session_id: id }) => id).filter((id) => id.includes(`/${this.#run}-`));
    this.#facts = { ...this.#facts, turns: Math.max(this.#facts.turns, own.length) };
    // Newest first; the oldest that was not read yet is next.
    const next = own.findLast((id) => !this.#known.has(id));
    if (next === undefined || this.#following) return;
    this.#following = this.#follow(next)
      // Streams end with servers, connections and answers; what has come of one stays.
      .catch((error: unknown) => {
        if (isGone(error)) this.#known.add(next);
      })
      .finally(() => {
        this.#following = undefined;
        this.#facts = { ...this.#facts, isStreaming: false };
      });
  }

  /** Ends when the turn that is being read has been read, or cannot be. */
  async settled(): Promise<void> {
    await this.#following;
  }

  async #follow(sessionId: string): Promise<void> {
    const call = { signal: this.#signal };
    const { messages } = await this.#client.call('getChatSession', { params: { sessionId } }, call);
    const asked = messages.findLast(({ role }) => role === 'user');
    // The session is there a moment before its message.
    if (!asked) return;
    this.#known.add(sessionId);
    this.#facts = { ...this.#facts, question: asked.content, answer: '', isStreaming: true };
    const params = { sessionId, taskId: asked.task_id };
    for await (const { type, data } of this.#client.stream('streamChatTask', { params }, call)) {
      if (type === 'token') this.#take(JSON.parse(data) as { text: string; snapshot?: true });
      if (type === 'done') this.#facts = { ...this.#facts, answered: this.#facts.answered + 1 };
      if (type === 'done' || type === 'error') return;
    }
  }

  #take({ text, snapshot }: { readonly text: string; readonly snapshot?: true }): void {
    const { answer, pieces } = this.#facts;
    const all = snapshot ? text : answer + text;
    this.#facts = { ...this.#facts, answer: all.slice(0, ANSWER_CHARACTERS_MAX), pieces: pieces + 1 };
  }
}
