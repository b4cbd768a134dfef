import { backoffMs, type CancelTimer, TIMED_OUT, withDeadline, withJitter } from '@millrace/foundation';
import type { Redis } from 'ioredis';
import { classifyFailure, stoppedError, timeoutError } from './errors.js';
import { addressOf, destroyClient, type NodeAddress, openClient } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** An argument of a Redis command. */
export type RedisArgument = string | number | Buffer;

/** The connections to one server or to all masters of a cluster. Sends each command to the server that has its keys. */
export interface Connections {
  /** True if a command would be sent at once. */
  readonly isReady: boolean;
  /** Number of clients used so far. It grows with every replacement. */
  readonly generation: number;
  /** Starts to connect. Does nothing after the first call. */
  open(): void;
  /** Closes everything at once, whatever the servers do. Pending calls fail. */
  stop(): void;
  /** Waits until commands can be sent. @throws `REDIS_TIMEOUT`, `SERVICE_STOPPED`. */
  ready(timeoutMs: number): Promise<unknown>;
  /**
   * Sends one command and returns its reply. All commands of one turn are sent in one write.
   * @throws what ioredis throws, `REDIS_TIMEOUT`, `SERVICE_STOPPED`.
   */
  send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown>;
  /** Returns the connections to all masters. @throws `REDIS_TIMEOUT`, `SERVICE_STOPPED`. */
  masters(timeoutMs: number): Promise<ServerConnection[]>;
  /** Returns the slot of a key. Keys of one slot may be in one blocking call; one server counts as one slot. */
  slotOf(key: string): number;
  /** Returns the address of the server that has the key, as far as known now. */
  addressOf(key: string): string | undefined;
  /** Returns the server that has the key, or any server without a key, as soon as it can be reached. */
  serverOf(key: string | undefined, timeoutMs: number): Promise<ServerConnection>;
  /** Reads the slot table again. Call it when a server fails: it may have lost its slots. */
  refresh(): void;
  /** Calls back when keys may have moved to another server. */
  onMove(listener: () => void): void;
}

const FIRST_RETRY_MS = 40;

/**
 * Keeps one connection to one server. Every reconnect is a new client, so no client can be stuck in an old state.
 *
 * ```
 *   closed ──open──▶ opening ──▶ ready ──lost, or silent too long──▶ pausing ──▶ opening …
 *                       └─ not ready within connectTimeoutMs ─────────▲
 *   any ──stop──▶ stopped
 * ```
 * Commands are sent only while `ready`. Calls at other times wait for it within their deadline. All pending calls of a
 * lost connection fail at once. The caller repeats what is repeatable.
 */
export class ServerConnection implements Connections {
  /** `host:port` of a cluster node. Empty if the options name one server. */
  readonly address: string;
  /** Number of clients used so far. */
  generation = 0;
  /** Ends of the waits for a client. Called with the client, or without one after `stop`. */
  readonly #waits = new Set<(client?: Redis) => void>();
  #client: Redis | undefined;
  #ready = false;
  #stopped = false;
  /** Failures since the last reply. */
  #failures = 0;
  #lastError: unknown;
  #cancelTimer: CancelTimer = () => {};
  /** Number of replies. A call that times out while it stands still has found a silent connection. */
  #heard = 0;
  #corked = false;

  /**
   * @param role - part of the client name in CLIENT LIST.
   * @param node - the node to connect to, if the options name a cluster.
   */
  constructor(
    private readonly options: ResolvedRedisConnectionOptions,
    private readonly role: string,
    private readonly node?: NodeAddress,
  ) {
    this.address = node ? addressOf(node) : '';
  }

  get isReady(): boolean {
    return this.#ready;
  }

  open(): void {
    if (this.#client || this.#stopped || this.generation > 0) return;
    this.#connect();
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#cancelTimer();
    this.#discard();
    this.#endWaits();
  }

  /** The cause of its `REDIS_TIMEOUT` is the last connection error. */
  async ready(timeoutMs: number): Promise<Redis> {
    if (this.#stopped) throw stoppedError();
    this.open();
    const client = this.#ready ? this.#client : await this.#nextReady(timeoutMs);
    if (client) return client;
    throw this.#stopped ? stoppedError() : timeoutError('a connection attempt', timeoutMs, this.#lastError);
  }

  send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown> {
    return this.#exchange(name, timeoutMs, (client) => {
      this.#cork(client);
      return client.call(name, args as RedisArgument[]);
    });
  }

  async masters(): Promise<ServerConnection[]> {
    return [this];
  }

  /** Makes another connection to the same server. */
  sibling(role: string, changes: Partial<ResolvedRedisConnectionOptions>): ServerConnection {
    return new ServerConnection({ ...this.options, ...changes }, role, this.node);
  }

  /** Makes an ioredis client of the same server, for pub/sub. */
  bareClient(role: string): Redis {
    return openClient(this.options, role, this.node);
  }

  slotOf(): number {
    return 0;
  }

  addressOf(): string {
    return this.address;
  }

  async serverOf(): Promise<ServerConnection> {
    return this;
  }

  refresh(): void {}

  onMove(): void {}

  /** Runs one exchange within a deadline. Drops a late reply. */
  async #exchange<T>(what: string, timeoutMs: number, send: (client: Redis) => Promise<T>): Promise<T> {
    const { clock } = this.options;
    let client = this.#ready ? this.#client : undefined;
    let leftMs = timeoutMs;
    if (!client) {
      const startedAt = clock.monotonicMs();
      client = await this.ready(timeoutMs);
      leftMs -= clock.monotonicMs() - startedAt;
    }
    const used = client;
    const heardAtSend = this.#heard;
    const reply = send(used).then(
      (value) => {
        this.#heard++;
        // Not reset before a reply: a server with too many clients accepts a connection and closes it, in a loop.
        this.#failures = 0;
        return value;
      },
      (error: unknown) => {
        this.#noteFailure(used, error);
        throw error;
      },
    );
    const value = await withDeadline(clock, Math.max(0, leftMs), reply);
    if (value !== TIMED_OUT) return value;
    this.#suspect(used, heardAtSend, leftMs);
    throw timeoutError(what, timeoutMs, this.#lastError);
  }

  #noteFailure(client: Redis, error: unknown): void {
    if (classifyFailure(error).kind !== 'connection') this.#heard++;
    // ioredis reports the end a turn later. Until then every repeated command would fail on the same dead socket.
    else this.#lose(client, error);
  }

  /** Sends all commands of a turn with one system call, which makes four times the commands per second. */
  #cork(client: Redis): void {
    const { stream } = client;
    if (this.#corked || !stream) return;
    this.#corked = true;
    stream.cork();
    process.nextTick(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  #connect(): void {
    const { clock, connectTimeoutMs } = this.options;
    const client = openClient(this.options, this.role, this.node);
    this.#client = client;
    this.generation++;
    client.on('error', (error: unknown) => {
      this.#lastError = error;
    });
    client.once('end', () => this.#lose(client, this.#lastError));
    client.once('ready', () => this.#opened(client));
    // ioredis limits only the TCP connection. A frozen Redis accepts that and never replies to the rest.
    this.#cancelTimer = clock.setTimer(connectTimeoutMs, () =>
      this.#lose(client, new Error(`not ready within ${connectTimeoutMs} ms of connecting`)),
    );
    client.connect().catch(() => {}); // 'error' and 'end' report it.
  }

  #opened(client: Redis): void {
    if (client !== this.#client) return;
    this.#cancelTimer();
    this.#ready = true;
    this.#lastError = undefined;
    this.#endWaits(client);
  }

  #lose(client: Redis, reason: unknown): void {
    if (client !== this.#client || this.#stopped) return;
    const { clock, rng, logger, reconnectMaxMs: maxMs } = this.options;
    if (this.#ready) {
      const node = this.address === '' ? {} : { node: this.address };
      logger.warn({ role: this.role, ...node, reason: String(reason) }, 'Redis connection lost');
    }
    if (reason !== undefined) this.#lastError = reason;
    this.#cancelTimer();
    this.#discard();
    // The first attempt is made at once, because most losses are one killed connection.
    const attempt = this.#failures++;
    const pauseMs =
      attempt === 0 ? 0 : backoffMs({ strategy: 'exponential', attempt, baseMs: FIRST_RETRY_MS, maxMs });
    this.#cancelTimer = clock.setTimer(withJitter(pauseMs, -0.5, rng.next()), () => this.#connect());
  }

  /** Resolves with the next client that is ready, or with undefined after `stop` or after the time. */
  #nextReady(timeoutMs: number): Promise<Redis | undefined> {
    return new Promise((resolve) => {
      const end = (client?: Redis) => {
        cancel();
        this.#waits.delete(end);
        resolve(client);
      };
      const cancel = this.options.clock.setTimer(Math.max(0, timeoutMs), () => end());
      this.#waits.add(end);
    });
  }

  #endWaits(client?: Redis): void {
    for (const end of this.#waits) end(client);
  }

  #discard(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#ready = false;
    this.#corked = false;
    if (client) destroyClient(client);
  }

  /** Replaces the client if it stays silent for `watchdogMs` after a call. */
  #suspect(client: Redis, heardAtSend: number, waitedMs: number): void {
    const { clock, watchdogMs } = this.options;
    const isSilent = () => client === this.#client && this.#heard === heardAtSend;
    if (!isSilent()) return;
    const replace = () => {
      if (isSilent()) this.#lose(client, new Error(`no reply for ${watchdogMs} ms`));
    };
    if (waitedMs >= watchdogMs) replace();
    else clock.setTimer(watchdogMs - waitedMs, replace, { unref: true });
  }
}
