import { AsyncResource } from 'node:async_hooks';
import type { Logger } from '@millrace/foundation';

/** The handlers of NOTIFY by channel. */
export class ChannelHandlers {
  readonly #byChannel = new Map<string, Set<(payload: string) => void>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get channels(): readonly string[] {
    return [...this.#byChannel.keys()];
  }

  has(channel: string): boolean {
    return this.#byChannel.has(channel);
  }

  /** Adds a handler and returns a function that removes it. */
  add(channel: string, handler: (payload: string) => void): () => void {
    // In the handler's own async context: PGlite calls back from inside the transaction that happens to run.
    const own = AsyncResource.bind((payload: string) => handler(payload));
    const handlers = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, handlers.add(own));
    return () => {
      handlers.delete(own);
      if (handlers.size === 0 && this.#byChannel.get(channel) === handlers) this.#byChannel.delete(channel);
    };
  }

  /** Calls all handlers of a channel. An exception of one does not keep the others from their call. */
  call(channel: string, payload: string): void {
    for (const handler of [...(this.#byChannel.get(channel) ?? [])]) {
      try {
        handler(payload);
      } catch (error) {
        this.#logger.error({ channel, reason: String(error) }, 'NOTIFY handler failed');
      }
    }
  }
}
