import { AsyncResource } from 'node:async_hooks';
import type { Logger } from '@millrace/foundation';

/** Who wants to hear of which channel. */
export class ChannelHandlers {
  readonly #byChannel = new Map<string, Set<(payload: string) => void>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The channels that somebody listens to. */
  get channels(): readonly string[] {
    return [...this.#byChannel.keys()];
  }

  has(channel: string): boolean {
    return this.#byChannel.has(channel);
  }

  /** Adds a handler; gives what takes it away. */
  add(channel: string, handler: (payload: string) => void): () => void {
    // In its own context: PGlite tells of a NOTIFY from inside whichever transaction runs just then.
    const own = AsyncResource.bind((payload: string) => handler(payload));
    const handlers = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, handlers.add(own));
    return () => {
      handlers.delete(own);
      if (handlers.size === 0 && this.#byChannel.get(channel) === handlers) this.#byChannel.delete(channel);
    };
  }

  /** Tells all handlers of a channel; one that fails keeps it from nobody. */
  tell(channel: string, payload: string): void {
    for (const handler of [...(this.#byChannel.get(channel) ?? [])]) {
      try {
        handler(payload);
      } catch (error) {
        this.#logger.error({ channel, reason: String(error) }, 'a handler of NOTIFY failed');
      }
    }
  }
}
