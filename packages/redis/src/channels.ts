import type { CancelTimer } from '@millrace/foundation';
import type { Redis } from 'ioredis';
import type { Connections, ServerConnection } from './connection.js';
import { classifyFailure } from './errors.js';
import { destroyClient } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

const RETRY_MS = 200;

/**
 * Listens to channels on a connection of its own, opened with the first listener and kept until the last has gone. In a
 * Redis Cluster it listens at one node, which hears what is published at any. What is published while the connection is
 * away is lost: messages are hints.
 */
export class Channels {
  readonly #options: ResolvedRedisConnectionOptions;
  readonly #connections: Connections;
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  #client: Redis | undefined;
  #opening = false;
  #cancelTimer: CancelTimer = () => {};
  #stopped = false;

  /** @param connections - the connection's own links, which know where a server is. */
  constructor(options: ResolvedRedisConnectionOptions, connections: Connections) {
    this.#options = options;
    this.#connections = connections;
  }

  /**
   * Listens to one channel.
   * @param listener - told every message that arrives; what it throws is ignored.
   * @returns a function that ends the listening.
   */
  subscribe(channel: string, listener: (message: string) => void): () => void {
    const own = (message: string) => listener(message);
    const known = this.#listeners.get(channel);
    if (known) known.add(own);
    else this.#listeners.set(channel, new Set([own]));
    if (!this.#client) void this.#open();
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

  async #open(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    this.#cancelTimer();
    try {
      const home = await this.#connections.serverOf(undefined, this.#options.callTimeoutMs);
      if (!this.#stopped && this.#listeners.size > 0) this.#listen(home);
    } catch {
      this.#openLater(); // Told by the calls that fail meanwhile.
    } finally {
      this.#opening = false;
    }
  }

  #openLater(): void {
    if (this.#stopped || this.#listeners.size === 0) return;
    const { clock, rng } = this.#options;
    const delayMs = RETRY_MS * (0.5 + rng.next());
    this.#cancelTimer = clock.setTimer(delayMs, () => void this.#open(), { unref: true });
  }

  #listen(home: ServerConnection): void {
    const client = home.bareClient('channels');
    this.#client = client;
    const lost = () => {
      if (this.#client !== client) return;
      this.#close();
      this.#openLater();
    };
    client.on('error', () => {});
    client.on('close', lost);
    client.on('message', (channel: string, message: string) => this.#tell(channel, message));
    this.#watch(client, lost);
    client.connect().catch(lost);
  }

  /** Subscribes, and again now and then to see whether the server is there: a frozen one is quiet like one without news. */
  #watch(client: Redis, lost: () => void): void {
    const { clock, watchdogMs } = this.#options;
    let isAnswered = false;
    const look = () => {
      if (!isAnswered) {
        lost();
        return;
      }
      isAnswered = false;
      ask();
    };
    const ask = () => {
      this.#cancelTimer = clock.setTimer(watchdogMs, look, { unref: true });
      const answered = () => {
        isAnswered = true;
      };
      // To subscribe again changes nothing and needs no right that a listener might lack; a refusal is an answer too.
      client
        .subscribe(...this.#listeners.keys())
        .then(answered, (error) => classifyFailure(error).kind !== 'connection' && answered());
    };
    client.once('ready', () => {
      if (this.#client !== client) return;
      this.#cancelTimer();
      ask();
    });
    // A frozen server accepts the connection and never gets ready.
    this.#cancelTimer = clock.setTimer(watchdogMs, look, { unref: true });
  }

  #close(): void {
    this.#cancelTimer();
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
