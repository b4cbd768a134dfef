import type { ChatEvent } from '@millrace/contract';
import { ProblemError, type ServerClient } from '@millrace/contract/server-client';
import { pause } from '../../data/live-feed.js';
import { isRefusal } from '../../rules/problems.js';
import { afterEvent, afterRefusal, hasEnded, type TurnProgress, UNHEARD } from '../../rules/turn-progress.js';

/** Which turn is heard. */
export interface TurnFeedOptions {
  readonly client: Pick<ServerClient, 'stream'>;
  readonly sessionId: string;
  readonly taskId: string;
  /** Once, when the turn is over. */
  readonly onEnd: (progress: TurnProgress) => void;
}

const FIRST_PAUSE_MS = 300;
const PAUSE_MAX_MS = 5_000;

/**
 * The stream of one turn. It is opened again when it breaks before the end, and closed while nobody looks: a turn waits for those who
 * listen and do not read. Each stream begins at the start of the turn, so what was heard of it is replaced and not repeated.
 */
export class TurnFeed {
  readonly #options: TurnFeedOptions;
  readonly #listeners = new Set<() => void>();
  #heard: TurnProgress = UNHEARD;
  #shown: TurnProgress = UNHEARD;
  #frame = 0;
  #running: AbortController | undefined;

  constructor(options: TurnFeedOptions) {
    this.#options = options;
  }

  /** How far the turn is; the same object until listeners are told of another. */
  readonly progress = (): TurnProgress => this.#shown;

  /** Hears of every change of the progress; for useSyncExternalStore. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Listens while the page is looked at, until the function it gives is called. */
  follow(): () => void {
    const look = () => (document.hidden ? this.#stop() : this.#start());
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
      document.removeEventListener('visibilitychange', look);
      this.#stop();
    };
  }

  #start(): void {
    if (this.#running || hasEnded(this.#heard.status)) return;
    this.#running = new AbortController();
    void this.#listen(this.#running.signal);
  }

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const before = this.#heard;
      let askedMs: number | undefined;
      try {
        await this.#hear(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isRefusal(error)) this.#take(afterRefusal(this.#heard, error));
        else if (error instanceof ProblemError) askedMs = error.retryAfterMs;
      }
      if (signal.aborted) return;
      if (hasEnded(this.#heard.status)) {
        this.#running = undefined;
        this.#options.onEnd(this.#heard);
        return;
      }
      if (this.#heard !== before) failures = 0;
      await pause(askedMs ?? Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** failures), signal);
    }
  }

  async #hear(signal: AbortSignal): Promise<void> {
    const { client, sessionId, taskId } = this.#options;
    const params = { sessionId, taskId };
    for await (const { type, data } of client.stream('streamChatTask', { params }, { signal })) {
      // A stream that is closed may hold some that were on their way: another one tells of them again.
      if (signal.aborted) return;
      this.#take(afterEvent(this.#heard, type, JSON.parse(data) as ChatEvent['data']));
      if (hasEnded(this.#heard.status)) return;
    }
  }

  /** A stream that was opened again brings thousands of words at once: they are drawn once. */
  #take(progress: TurnProgress): void {
    this.#heard = progress;
    if (hasEnded(progress.status)) this.#show();
    else this.#frame ||= requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#shown = this.#heard;
    for (const listener of this.#listeners) listener();
  }
}
