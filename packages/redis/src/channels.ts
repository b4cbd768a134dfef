import { type Loop, loop, sleep, TIMED_OUT, withDeadline } from '@millrace/foundation';
import type { Redis } from 'ioredis';
import type { Connections, ServerConnection } from './connection.js';
import { classifyFailure } from './errors.js';
import { destroyClient } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

const RETRY_MS = 200;

/**
 * Listens to channels on a connection of its own, which is open while there are listeners. In a Redis Cluster it listens
 * at one node, which receives what is published at any node. Messages published while the connection is lost do not
 * arrive, so a message can only be a hint.
 */
export class Channels {
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  readonly #serving: Loop;
  #client: Redis | undefined;
  #stopped = false;

  /** @param connections - the connections of the RedisConnection, which know the servers. */
  constructor(
    private readonly options: ResolvedRedisConnectionOptions,
    private readonly connections: Connections,
  ) {
    this.#serving = loop(options, 'Listen to channels', RETRY_MS, () => this.#serve(), { unref: true });
  }

  /**
   * Listens to one channel. Returns a function that ends the listening.
   * @param listener - called with every message. Its errors are ignored.
   */
  subscribe(channel: string, listener: (message: string) => void): () => void {
    const own = (message: string) => listener(message);
    const known = this.#listeners.get(channel);
    if (known) known.add(own);
    else {
      this.#listeners.set(channel, new Set([own]));
      this.#client?.subscribe(channel).catch(() => {});
    }
    if (!this.#stopped) this.#serving.start();
    return () => this.#leave(channel, own);
  }

  /** Ends all listening and closes the connection. */
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

  #close(): void {
    void this.#serving.stop();
    if (this.#client) destroyClient(this.#client);
    this.#client = undefined;
  }

  async #serve(): Promise<void> {
    let server: ServerConnection;
    try {
      server = await this.connections.serverOf(undefined, this.options.callTimeoutMs);
    } catch {
      return; // The calls that fail meanwhile report it.
    }
    if (this.#listeners.size === 0) return;
    const client = server.bareClient('channels');
    this.#client = client;
    client.on('error', () => {});
    client.on('message', (channel: string, message: string) => this.#notify(channel, message));
    await this.#keepOpen(client).catch(() => {});
    if (this.#client === client) this.#client = undefined;
    destroyClient(client);
  }

  /** Returns when the connection is lost. Subscribes again from time to time, because a frozen server is silent too. */
  async #keepOpen(client: Redis): Promise<void> {
    const { clock, watchdogMs } = this.options;
    const lost = new AbortController();
    client.once('close', () => lost.abort());
    let isAlive = (await withDeadline(clock, watchdogMs, client.connect())) !== TIMED_OUT;
    while (isAlive && !lost.signal.aborted) {
      // A repeated subscription changes nothing and needs no right that a listener lacks. A refusal is a reply too.
      const reply = client.subscribe(...this.#listeners.keys()).catch((error: unknown) => {
        if (classifyFailure(error).kind === 'connection') throw error;
      });
      isAlive = (await withDeadline(clock, watchdogMs, reply)) !== TIMED_OUT;
      if (isAlive) await sleep(clock, watchdogMs, lost.signal);
    }
  }

  #notify(channel: string, message: string): void {
    for (const listener of [...(this.#listeners.get(channel) ?? [])]) {
      try {
        listener(message);
      } catch {
        // A listener that throws must not keep the message from the others.
      }
    }
  }
}
