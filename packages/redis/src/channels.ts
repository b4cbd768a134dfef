import type { CancelTimer } from '@millrace/foundation';
import { destroyClient, openClient, type RedisClient } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

const RETRY_MS = 200;

/**
 * Listens to channels on a connection of its own, opened with the first listener and kept until the last has gone. What is
 * published while the connection is away is lost: messages are hints.
 */
export class Channels {
  readonly #options: ResolvedRedisConnectionOptions;
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  #client: RedisClient | undefined;
  #cancelRetry: CancelTimer = () => {};
  #stopped = false;

  /** @param options - of the connection. */
  constructor(options: ResolvedRedisConnectionOptions) {
    this.#options = options;
  }

  /**
   * Listens to one channel.
   * @param channel - its name.
   * @param listener - told every message that arrives; what it throws is ignored.
   * @returns a function that ends the listening.
   */
  subscribe(channel: string, listener: (message: string) => void): () => void {
    const own = (message: string) => listener(message);
    const known = this.#listeners.get(channel);
    if (known) known.add(own);
    else this.#listeners.set(channel, new Set([own]));
    if (!this.#client) this.#open();
    else if (!known) this.#client.subscribe(channel).catch(() => {});
    return () => this.#leave(channel, own);
  }

  /** Ends every listening and closes the connection. */
  stop(): void {
    this.#stopped = true;
    this.#listeners.clear();
    this.#close();
  }

  #leave(channel: string, listener: (message: string) => void): void {
    const listeners = this.#listeners.get(channel);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(channel);
    if (this.#listeners.size === 0) this.#close();
  }

  #open(): void {
    if (this.#stopped || this.#listeners.size === 0) return;
    const client = openClient(this.#options, 'channels');
    this.#client = client;
    const lost = () => {
      if (this.#client !== client) return;
      this.#close();
      const { clock, rng } = this.#options;
      this.#cancelRetry = clock.setTimer(RETRY_MS * (0.5 + rng.next()), () => this.#open(), { unref: true });
    };
    client.on('error', () => {});
    client.on('close', lost);
    client.on('message', (channel: string, message: string) => this.#tell(channel, message));
    client
      .connect()
      .then(() => client.subscribe(...this.#listeners.keys()))
      .catch(lost);
  }

  #close(): void {
    this.#cancelRetry();
    const client = this.#client;
    this.#client = undefined;
    if (client) destroyClient(client);
  }

  #tell(channel: string, message: string): void {
    for (const listener of [...(this.#listeners.get(channel) ?? [])]) {
      try {
        listener(message);
      } catch {
        // A message is a hint; whoever fails on it must not keep it from the others.
      }
    }
  }
}
