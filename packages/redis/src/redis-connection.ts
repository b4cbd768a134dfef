import { MillraceError, type Service, type ServiceState } from '@millrace/foundation';
import { Channels } from './channels.js';
import { ClusterConnections } from './cluster-connections.js';
import { type Connections, type RedisArgument, ServerConnection } from './connection.js';
import { classifyFailure, ERRORS, toRedisError } from './errors.js';
import { Markers } from './markers.js';
import { isClusterAddress } from './open-client.js';
import {
  type RedisConnectionOptions,
  type ResolvedRedisConnectionOptions,
  resolveRedisConnectionOptions,
} from './options.js';
import type { ScriptCall, ScriptRunner } from './script.js';

/** Options of one call. */
export interface CallOptions {
  /** Maximum duration of the call, repeats included (`callTimeoutMs` of the connection). */
  readonly timeoutMs?: number | undefined;
}

/** The outcomes of a pipeline, in the order of its calls. */
export type PipelineOutcomes<C extends readonly ScriptCall[]> = {
  -readonly [P in keyof C]: PromiseSettledResult<C[P] extends ScriptCall<infer R> ? R : never>;
};

/**
 * A connection to Redis that restores itself. Every call has a deadline, a silent or lost client is replaced, and nothing
 * is sent after its caller has given up. Connects on the first call, or on `start`.
 *
 * It has one socket for commands, and one more as soon as a caller waits for a marker. For a Redis Cluster it has one
 * per master, and one per slot in which callers wait.
 */
export class RedisConnection implements Service, ScriptRunner {
  readonly options: ResolvedRedisConnectionOptions;
  /** Waits for markers. */
  readonly markers: Markers;
  /** Listens to channels. */
  readonly channels: Channels;
  readonly #connections: Connections;
  #state: ServiceState = 'IDLE';
  #starting: Promise<void> | undefined;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(options: RedisConnectionOptions = {}) {
    this.options = resolveRedisConnectionOptions(options);
    this.#connections = isClusterAddress(this.options)
      ? new ClusterConnections(this.options)
      : new ServerConnection(this.options, 'commands');
    this.markers = new Markers(this.options, this.#connections);
    this.channels = new Channels(this.options, this.#connections);
  }

  /** The current state. RUNNING from the first call on, also while the connection is lost. */
  get state(): ServiceState {
    return this.#state;
  }

  /** True if a command would be sent at once; in a Redis Cluster, to any node. */
  get isReady(): boolean {
    return this.#connections.isReady;
  }

  /** Number of clients used so far, of all nodes together. It grows whenever a connection was lost or replaced. */
  get generation(): number {
    return this.#connections.generation;
  }

  /**
   * Connects and waits until Redis replies. After a failure the connection keeps trying: call again, or just use it.
   * @throws MillraceError `REDIS_UNAVAILABLE` after `callTimeoutMs`; `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    this.#open();
    this.#starting ??= this.#ready().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Closes all sockets at once, whatever Redis does. Pending calls and waits fail. */
  async stop(): Promise<void> {
    this.#state = 'STOPPED';
    this.markers.stop();
    this.channels.stop();
    this.#connections.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Sends one command and returns the reply as ioredis does, with texts as strings. The command is never repeated,
   * because it may have run when the connection was lost. It is only sent again if a cluster node redirected it or
   * put it off without executing it (MOVED, ASK, TRYAGAIN, CLUSTERDOWN …). In a cluster its first key decides the node.
   * Without a key it goes to any master.
   * @throws MillraceError `REDIS_UNAVAILABLE` (`details.code` is the reason, `cause` the original error, a
   * `REDIS_TIMEOUT` after the deadline), `REDIS_REFUSED`, `SERVICE_STOPPED`.
   */
  async call(
    command: string,
    args: readonly RedisArgument[] = [],
    options: CallOptions = {},
  ): Promise<unknown> {
    this.#open();
    try {
      return await this.#connections.send(command, args, options.timeoutMs ?? this.options.callTimeoutMs);
    } catch (error) {
      throw toRedisError(error, command);
    }
  }

  /**
   * Checks that Redis keeps its data: with any `maxmemory-policy` but `noeviction` it deletes keys when memory is full,
   * whether a limit is set now or later. Reads it from the INFO of every master, because a user with limited rights may
   * run INFO but not CONFIG.
   * @throws MillraceError `REDIS_MAY_EVICT`; `REDIS_UNAVAILABLE`, `REDIS_REFUSED` (the user may not run INFO),
   * `SERVICE_STOPPED`.
   */
  async requireNoEviction(options: CallOptions = {}): Promise<void> {
    this.#open();
    const deadline = this.#deadline(options);
    let replies: unknown[];
    try {
      const masters = await this.#connections.masters(this.#leftMs(deadline));
      const leftMs = this.#leftMs(deadline);
      replies = await Promise.all(masters.map((master) => master.send('INFO', ['memory'], leftMs)));
    } catch (error) {
      this.#connections.refresh(); // The node that failed may be no master any more.
      throw toRedisError(error, 'INFO');
    }
    for (const reply of replies) {
      const policy = /^maxmemory_policy:(\S+)/m.exec(String(reply))?.[1];
      if (policy !== undefined && policy !== 'noeviction') throw ERRORS.create('REDIS_MAY_EVICT', { policy });
    }
  }

  /**
   * Executes one script call and returns the decoded reply. Sends it again until the deadline if the connection is lost
   * before the reply. Sends the script in full if Redis does not know it.
   * @throws MillraceError `REDIS_UNAVAILABLE`, `REDIS_SCRIPT_FAILED`, `SERVICE_STOPPED`.
   */
  async run<R>(call: ScriptCall<R>, options: CallOptions = {}): Promise<R> {
    this.#open();
    return this.#send(call, this.#deadline(options), false);
  }

  /**
   * Executes many script calls in one round trip; in a Redis Cluster one per node. Each call has its own outcome, with the
   * reasons that `run` throws. Calls that are sent again may run after later ones of the same pipeline, so they must not
   * depend on each other.
   */
  async pipeline<const C extends readonly ScriptCall[]>(
    calls: C,
    options: CallOptions = {},
  ): Promise<PipelineOutcomes<C>> {
    this.#open();
    const deadline = this.#deadline(options);
    const results = calls.map((call) => this.#send(call, deadline, false));
    return (await Promise.allSettled(results)) as PipelineOutcomes<C>;
  }

  /** Sends a script call. Sends it again if that can help. */
  async #send<R>(call: ScriptCall<R>, deadline: number, inFull: boolean): Promise<R> {
    const { name, source, sha } = call.script;
    const [command, script] = inFull ? ['EVAL', source] : ['EVALSHA', sha];
    let reply: unknown;
    try {
      reply = await this.#connections.send(command, [script, ...call.parameters], this.#leftMs(deadline));
    } catch (error) {
      // REDIS_TIMEOUT and SERVICE_STOPPED are final.
      const kind = error instanceof MillraceError ? undefined : classifyFailure(error).kind;
      if (kind === 'no-script') return this.#send(call, deadline, true);
      if (kind === 'connection' && this.#leftMs(deadline) > 0) return this.#send(call, deadline, inFull);
      throw toRedisError(error, name);
    }
    return call.decode(reply);
  }

  #open(): void {
    if (this.#state !== 'IDLE') return;
    this.#state = 'RUNNING';
    this.#connections.open();
  }

  async #ready(): Promise<void> {
    try {
      await this.#connections.ready(this.options.callTimeoutMs);
    } catch (error) {
      throw toRedisError(error, 'the connection');
    }
  }

  #deadline({ timeoutMs = this.options.callTimeoutMs }: CallOptions): number {
    return this.options.clock.monotonicMs() + timeoutMs;
  }

  #leftMs(deadline: number): number {
    return deadline - this.options.clock.monotonicMs();
  }
}
