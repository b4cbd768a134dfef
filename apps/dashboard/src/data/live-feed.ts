import type { ChangesEvent, ChangesSnapshot, HelloEvent } from '@millrace/contract';
import type { ServerClient } from '@millrace/contract/server-client';
import { lostStream } from '../rules/lost-stream.js';
import { isLockedOut } from '../rules/problems.js';

/** Whether what is shown is what is. */
export interface LiveState {
  readonly status: 'connecting' | 'live' | 'lost' | 'refused' | 'paused';
  /** Since when it is so, by the clock of this browser, in milliseconds since 1970. */
  readonly since: number;
  /** Why the server gives no stream. */
  readonly problem: string | undefined;
  /** How everything stands; null: this caller is not told, or nobody could look. */
  readonly snapshot: ChangesSnapshot | null;
  /** By how much the server's clock is ahead of this one. */
  readonly aheadMs: number;
}

/** What is done with what is heard. */
export interface LiveFeedOptions {
  readonly client: Pick<ServerClient, 'stream'>;
  readonly onChange: (change: ChangesEvent) => void;
  /** Connected, for the first time or again: whatever was shown may be old. */
  readonly onHello: () => void;
  /** The server does not let this caller in any more. */
  readonly onLockedOut: () => void;
}

/**
 * One stream of changes for the whole page. It is opened again when it breaks, and closed while nobody looks.
 *
 * connecting → live ⇄ lost | refused (the server is there, but gives no stream); any → paused (the tab is hidden) → connecting.
 */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #listeners = new Set<() => void>();
  #state: LiveState = {
    status: 'connecting',
    since: Date.now(),
    problem: undefined,
    snapshot: null,
    aheadMs: 0,
  };
  #running: AbortController | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  /** How it stands; the same object until it changes. */
  readonly state = (): LiveState => this.#state;

  /** Hears of every change of the state; for useSyncExternalStore. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Listens while the page is looked at, until the function it gives is called. */
  follow(): () => void {
    const look = () => (document.hidden ? this.#pause() : this.#start());
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
      document.removeEventListener('visibilitychange', look);
      this.#running?.abort();
      this.#running = undefined;
    };
  }

  #start(): void {
    if (this.#running) return;
    this.#running = new AbortController();
    if (this.#state.status === 'paused') this.#set({ status: 'connecting' });
    void this.#listen(this.#running.signal);
  }

  #pause(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#set({ status: 'paused' });
  }

  async #listen(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      let ended: unknown;
      try {
        for await (const { type, data } of this.#options.client.stream('watchChanges', {}, { signal })) {
          failures = 0;
          if (type === 'hello') this.#hello(JSON.parse(data) as HelloEvent);
          else if (type === 'changes') this.#changes(JSON.parse(data) as ChangesEvent);
        }
      } catch (error) {
        // Whatever it was: the next try shows whether it is over.
        ended = error;
      }
      if (signal.aborted) return;
      const { pauseMs, ...lost } = lostStream(ended, failures);
      this.#set(lost);
      if (isLockedOut(ended)) this.#options.onLockedOut();
      await pause(pauseMs, signal);
    }
  }

  #hello({ at, snapshot }: HelloEvent): void {
    this.#set({ status: 'live', problem: undefined, snapshot, aheadMs: Date.parse(at) - Date.now() });
    this.#options.onHello();
  }

  #changes(change: ChangesEvent): void {
    if (change.snapshot) this.#set({ snapshot: change.snapshot });
    this.#options.onChange(change);
  }

  #set(change: Partial<LiveState>): void {
    const isNew = change.status !== undefined && change.status !== this.#state.status;
    this.#state = { ...this.#state, ...change, ...(isNew && { since: Date.now() }) };
    for (const listener of this.#listeners) listener();
  }
}

/** Waits `ms` milliseconds, or until `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
