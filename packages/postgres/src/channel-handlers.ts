import { AsyncResource } from 'node:async_hooks';
import type { Logger } from '@millrace/foundation';
import { quoteIdentifier } from './values.js';

/** The handlers of NOTIFY by channel. */
export class ChannelHandlers {
  readonly #byChannel = new Map<string, Set<(payload: string) => void>>();
  readonly #logger: Logger;
  readonly #send: (sql: string) => void;

  /** @param send - called with LISTEN after the first handler of a channel, with UNLISTEN after the last. */
  constructor(logger: Logger, send: (sql: string) => void) {
    this.#logger = logger;
    this.#send = send;
  }

  /** LISTEN for each channel, for a new connection. */
  get statements(): readonly string[] {
    return [...this.#byChannel.keys()].map((channel) => `LISTEN ${quoteIdentifier(channel)}`);
  }

  /**
   * Adds a handler and returns a function that removes it.
   * @throws MillraceError `IDENTIFIER_INVALID`.
   */
  listen(channel: string, handler: (payload: string) => void): () => void {
    const name = quoteIdentifier(channel);
    // In the handler's own async context: PGlite calls back from inside the transaction that happens to run.
    const own = AsyncResource.bind((payload: string) => handler(payload));
    const handlers = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, handlers.add(own));
    if (handlers.size === 1) this.#send(`LISTEN ${name}`);
    return () => {
      if (!handlers.delete(own) || handlers.size > 0) return;
      this.#byChannel.delete(channel);
      this.#send(`UNLISTEN ${name}`);
    };
  }

  /** Calls all handlers of a channel. An exception of a handler is logged, and the next one is called. */
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
