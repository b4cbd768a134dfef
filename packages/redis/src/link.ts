import { type CancelTimer, ERRORS as FOUNDATION_ERRORS } from '@millrace/foundation';
import type { ChainableCommander, Redis } from 'ioredis';
import { ERRORS } from './errors.js';
import { verdictOf } from './failure.js';
import type { Links, RedisArgument, RedisCommand, ServerLink } from './links.js';
import { destroyClient, type NodeAddress, openClient } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

interface ReadyWaiter {
  resolve(client: Redis): void;
  reject(error: unknown): void;
  readonly cancel: CancelTimer;
}

const FIRST_RETRY_MS = 20;

/**
 * One connection to one server that is always being kept: every reconnect is a new client, so there is no state to be stuck in.
 *
 * ```
 *   closed ──open──▶ opening ──▶ ready ──lost, or silent too long──▶ pausing ──▶ opening …
 *                       └─ not ready within connectTimeoutMs ─────────▲
 *   any ──stop──▶ stopped
 * ```
 * Commands go out only while `ready`; a caller of any other time waits for it within its own deadline. When a
 * connection is lost, all that was under way on it fails at once, and whoever can repeat does.
 */
export class Link implements Links, ServerLink {
  /** Of the server, `host:port`; empty when the options name only one. */
  readonly address: string;
  readonly #options: ResolvedRedisConnectionOptions;
  readonly #role: string;
  readonly #node: NodeAddress | undefined;
  readonly #waiters = new Set<ReadyWaiter>();
  #client: Redis | undefined;
  #ready = false;
  #stopped = false;
  #failures = 0;
  #lastError: unknown;
  #cancelTimer: CancelTimer = () => {};
  /** Counts replies: a call that times out while it stands still has found a silent connection. */
  #heard = 0;
  #corked = false;

  /** @param node - which node, when the options name a cluster. */
  constructor(options: ResolvedRedisConnectionOptions, role: string, node?: NodeAddress) {
    this.#options = options;
    this.#role = role;
    this.#node = node;
    this.address = node ? `${node.host}:${node.port}` : '';
  }

  /** Counts the clients this link has used; tests and metrics see replacements in it. */
  generation = 0;

  get isReady(): boolean {
    return this.#ready;
  }

  /** Begins to connect; does nothing when that has begun. */
  open(): void {
    if (this.#client || this.#stopped || this.generation > 0) return;
    this.#connect();
  }

  /** Ends the connection at once, whatever the other side does; everything that waits or is under way fails. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#cancelTimer();
    this.#answerWaiters((waiter) => waiter.reject(this.#stoppedError()));
    this.#discard();
  }

  /**
   * Waits until commands can be sent.
   * @throws REDIS_TIMEOUT with the last connection error as its cause; SERVICE_STOPPED.
   */
  ready(timeoutMs: number): Promise<Redis> {
    if (this.#stopped) return Promise.reject(this.#stoppedError());
    if (this.#ready && this.#client) return Promise.resolve(this.#client);
    this.open();
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.setTimer(Math.max(0, timeoutMs), () => {
        this.#waiters.delete(waiter);
        reject(this.#timeoutError('a connection attempt', timeoutMs));
      });
      const waiter: ReadyWaiter = { resolve, reject, cancel };
      this.#waiters.add(waiter);
    });
  }

  /** Sends one command and gives its reply; fails with what ioredis threw, REDIS_TIMEOUT or SERVICE_STOPPED. */
  send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown> {
    return this.#within(name, timeoutMs, async (client) => {
      this.#cork(client);
      return client.call(name, args as RedisArgument[]);
    });
  }

  async sendEverywhere(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown[]> {
    return [await this.send(name, args, timeoutMs)];
  }

  /** Sends many commands in one write; each has its own outcome. */
  async sendAll(
    commands: readonly RedisCommand[],
    timeoutMs: number,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const run = async (client: Redis) => {
      const batch: ChainableCommander = client.pipeline();
      for (const [name, args] of commands) batch.call(name, args as RedisArgument[]);
      return batch.exec();
    };
    const outcomes = (await this.#within(`${commands.length} commands`, timeoutMs, run)) ?? [];
    return commands.map((_, at) => {
      const [error, value] = outcomes[at] ?? [new Error('Connection is closed.'), undefined];
      if (!error) return { status: 'fulfilled', value };
      this.#noteFailure(this.#client, error);
      return { status: 'rejected', reason: error };
    });
  }

  /** Another connection to the same server. */
  sibling(role: string, changes: Partial<ResolvedRedisConnectionOptions> = {}): Link {
    return new Link({ ...this.#options, ...changes }, role, this.#node);
  }

  /** A bare client of the same server, for what is no exchange of commands and replies. */
  bareClient(role: string): Redis {
    return openClient(this.#options, role, this.#node);
  }

  /** One server: any keys may stand in one blocking call. */
  laneOf(): string {
    return '';
  }

  addressOf(): string {
    return this.address;
  }

  async homeOf(): Promise<Link> {
    return this;
  }

  /** There is no other server to look for. */
  doubt(): void {}

  onMove(): void {}

  /** Runs one exchange against a deadline; a late reply is dropped, and makes the link look at its connection. */
  async #within<T>(what: string, timeoutMs: number, exchange: (client: Redis) => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    let client = this.#ready ? this.#client : undefined;
    let leftMs = timeoutMs;
    if (!client) {
      const startedAt = clock.monotonicMs();
      client = await this.ready(timeoutMs);
      leftMs -= clock.monotonicMs() - startedAt;
    }
    const used = client;
    return new Promise((resolve, reject) => {
      const heardAtSend = this.#heard;
      const cancel = clock.setTimer(Math.max(0, leftMs), () => {
        reject(this.#timeoutError(what, timeoutMs));
        this.#suspect(used, heardAtSend, leftMs);
      });
      exchange(used).then(
        (reply) => {
          this.#heard++;
          // Only now: a server with too many clients accepts a connection, closes it, and would be asked in a loop.
          this.#failures = 0;
          cancel();
          resolve(reply);
        },
        (error: unknown) => {
          this.#noteFailure(used, error);
          cancel();
          reject(error);
        },
      );
    });
  }

  #noteFailure(client: Redis | undefined, error: unknown): void {
    if (verdictOf(error).kind !== 'connection') this.#heard++;
    // ioredis tells of the end a turn later; until then every repeat would fail on the same dead socket.
    else if (client) this.#lose(client, error);
  }

  /** One system call for all commands of a turn instead of one each: four times the commands per second. */
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
    const client = openClient(this.#options, this.#role, this.#node);
    this.#client = client;
    this.generation++;
    client.on('error', (error: unknown) => {
      this.#lastError = error;
    });
    client.once('end', () => this.#lose(client, this.#lastError));
    client.once('ready', () => this.#opened(client));
    // ioredis' own limit ends with the TCP connection; a frozen Redis accepts that and never answers the rest.
    this.#cancelTimer = this.#options.clock.setTimer(this.#options.connectTimeoutMs, () =>
      this.#lose(client, new Error(`no answer within ${this.#options.connectTimeoutMs} ms of connecting`)),
    );
    client.connect().catch(() => {}); // Told by 'error' and 'end'.
  }

  #opened(client: Redis): void {
    if (client !== this.#client) return;
    this.#cancelTimer();
    this.#ready = true;
    this.#lastError = undefined;
    this.#answerWaiters((waiter) => waiter.resolve(client));
  }

  #lose(client: Redis, reason: unknown): void {
    if (client !== this.#client || this.#stopped) return;
    const { clock, rng, logger, reconnectMaxMs } = this.#options;
    if (this.#ready) {
      const node = this.address === '' ? {} : { node: this.address };
      logger.warn({ role: this.#role, ...node, reason: String(reason) }, 'Redis connection lost');
    }
    if (reason !== undefined) this.#lastError = reason;
    this.#cancelTimer();
    this.#discard();
    // The first attempt at once: most losses are one killed connection. Then further and further apart, scattered.
    const pauseMs = Math.min(reconnectMaxMs, FIRST_RETRY_MS * 2 ** this.#failures) * (0.5 + rng.next() / 2);
    this.#cancelTimer = clock.setTimer(this.#failures === 0 ? 0 : pauseMs, () => this.#connect());
    this.#failures++;
  }

  #answerWaiters(answer: (waiter: ReadyWaiter) => void): void {
    for (const waiter of this.#waiters) {
      waiter.cancel();
      answer(waiter);
    }
    this.#waiters.clear();
  }

  #discard(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#ready = false;
    this.#corked = false;
    if (client) destroyClient(client);
  }

  #suspect(client: Redis, heardAtSend: number, waitedMs: number): void {
    const { clock, watchdogMs } = this.#options;
    const isSilent = () => client === this.#client && this.#heard === heardAtSend;
    if (!isSilent()) return;
    const replace = () => {
      if (isSilent()) this.#lose(client, new Error(`no reply for ${watchdogMs} ms`));
    };
    if (waitedMs >= watchdogMs) replace();
    else clock.setTimer(watchdogMs - waitedMs, replace, { unref: true });
  }

  #timeoutError(operation: string, timeoutMs: number): Error {
    return ERRORS.create(
      'REDIS_TIMEOUT',
      { operation, timeoutMs: Math.round(timeoutMs) },
      { cause: this.#lastError },
    );
  }

  #stoppedError(): Error {
    return FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The Redis connection' });
  }
}
