import { Lifecycle, MillraceError, type Service, type ServiceState } from '@millrace/foundation';
import { Channels } from './channels.js';
import { ClusterLinks } from './cluster-links.js';
import { ERRORS } from './errors.js';
import { toRedisError, verdictOf } from './failure.js';
import { Link } from './link.js';
import type { Links, RedisArgument, RedisCommand } from './links.js';
import { Markers } from './markers.js';
import { isClusterAddress } from './open-client.js';
import {
  type RedisConnectionOptions,
  type ResolvedRedisConnectionOptions,
  resolveRedisConnectionOptions,
} from './options.js';
import type { ScriptCall, ScriptRunner } from './script.js';

/** What one call may ask for besides the connection's own settings. */
export interface CallOptions {
  /** Instead of `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

/** The outcomes of a pipeline, in the order of its calls. */
export type PipelineOutcomes<C extends readonly ScriptCall[]> = {
  -readonly [P in keyof C]: PromiseSettledResult<C[P] extends ScriptCall<infer R> ? R : never>;
};

/**
 * A connection to Redis that comes back by itself: every call has a deadline, a silent or lost client is replaced,
 * and nothing is sent that its caller no longer waits for. One socket for commands, one more as soon as somebody
 * waits for markers; in a Redis Cluster one per master, and one per slot waited in. Connects on the first call, or on
 * `start`.
 */
export class RedisConnection implements Service, ScriptRunner {
  readonly options: ResolvedRedisConnectionOptions;
  /** Where to wait for wake-ups; see {@link Markers}. */
  readonly markers: Markers;
  /** Where to listen to what is published; see {@link Channels}. */
  readonly channels: Channels;
  readonly #link: Links;
  readonly #lifecycle: Lifecycle;
  #starting: Promise<void> | undefined;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(options: RedisConnectionOptions = {}) {
    this.options = resolveRedisConnectionOptions(options);
    this.#link = isClusterAddress(this.options)
      ? new ClusterLinks(this.options)
      : new Link(this.options, 'commands');
    this.markers = new Markers(this.options, this.#link);
    this.channels = new Channels(this.options, this.#link);
    this.#lifecycle = new Lifecycle('The Redis connection', {
      start: () => this.#link.open(),
      stop: () => {},
    });
  }

  /** Where the connection is in its life. */
  get state(): ServiceState {
    return this.#lifecycle.state;
  }

  /** Whether a command would be sent at once; in a Redis Cluster, to whichever node. */
  get isReady(): boolean {
    return this.#link.isReady;
  }

  /**
   * How many clients have been used so far; more than one means that connections were lost or replaced. In a Redis
   * Cluster those of all nodes together: what counts is whether it grows.
   */
  get generation(): number {
    return this.#link.generation;
  }

  /**
   * Connects and waits until Redis answers. When it does not, the connection goes on trying: call again, or just use it.
   * @throws MillraceError `REDIS_UNAVAILABLE` after `callTimeoutMs`; `SERVICE_STOPPED` after `stop`.
   */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Closes both sockets at once, whatever Redis does; calls under way and waiters fail. */
  stop(): Promise<void> {
    // Not a step of the lifecycle: markers may be waited for without a start, and both end at once.
    this.markers.stop();
    this.channels.stop();
    this.#link.stop();
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Sends one command. It is never repeated: after a lost connection nobody knows whether it ran. Only what a node of a
   * cluster has sent elsewhere or put off without executing it (MOVED, ASK, TRYAGAIN, CLUSTERDOWN …) goes out again. In a
   * cluster it goes by its first key, without one to any master.
   * @returns the reply as ioredis gives it, texts as strings.
   * @throws MillraceError `REDIS_UNAVAILABLE` (`details.code` says why, `cause` is the original; a passed deadline is
   * a `REDIS_TIMEOUT` there), `REDIS_REFUSED`; `SERVICE_STOPPED`.
   */
  async call(
    command: string,
    args: readonly RedisArgument[] = [],
    options: CallOptions = {},
  ): Promise<unknown> {
    this.#open();
    try {
      return await this.#link.send(command, args, options.timeoutMs ?? this.options.callTimeoutMs);
    } catch (error) {
      throw toRedisError(error, command);
    }
  }

  /**
   * Checks that Redis keeps what it was given: with any `maxmemory-policy` but `noeviction` it deletes keys when memory is
   * full, whether a limit is set now or later. By INFO, which a user can be allowed where CONFIG cannot; in a Redis Cluster
   * every master is asked.
   * @throws MillraceError `REDIS_MAY_EVICT`; `REDIS_UNAVAILABLE`, `REDIS_REFUSED` (the user may not run INFO),
   * `SERVICE_STOPPED`.
   */
  async requireNoEviction(options: CallOptions = {}): Promise<void> {
    this.#open();
    const timeoutMs = options.timeoutMs ?? this.options.callTimeoutMs;
    const replies = await this.#link.sendEverywhere('INFO', ['memory'], timeoutMs).catch((error: unknown) => {
      throw toRedisError(error, 'INFO');
    });
    for (const reply of replies) {
      const policy = /^maxmemory_policy:(\S+)/m.exec(String(reply))?.[1];
      if (policy !== undefined && policy !== 'noeviction') throw ERRORS.create('REDIS_MAY_EVICT', { policy });
    }
  }

  /**
   * Executes one script call. It is sent again when the connection is lost before the reply, until the deadline; a
   * script that Redis does not know (any more) is sent in full.
   * @param call - made by `script.call`.
   * @returns the decoded reply.
   * @throws MillraceError `REDIS_UNAVAILABLE`, `REDIS_SCRIPT_FAILED`, `SERVICE_STOPPED`.
   */
  async run<R>(call: ScriptCall<R>, options: CallOptions = {}): Promise<R> {
    this.#open();
    const { clock, callTimeoutMs } = this.options;
    const deadline = clock.monotonicMs() + (options.timeoutMs ?? callTimeoutMs);
    let inFull = false;
    for (;;) {
      const [name, args] = commandOf(call, inFull);
      let reply: unknown;
      try {
        reply = await this.#link.send(name, args, deadline - clock.monotonicMs());
      } catch (error) {
        const next = this.#afterFailure(error, deadline);
        if (next === 'give up') throw toRedisError(error, call.script.name);
        inFull ||= next === 'in full';
        continue;
      }
      return call.decode(reply);
    }
  }

  /**
   * Executes many script calls in one round trip. Each has its own outcome; those lost with a connection or unknown
   * to Redis are sent again, which may put them behind later ones of the same pipeline: calls that depend on each
   * other do not belong into one.
   * @param calls - made by `script.call`; in a Redis Cluster each under one hash tag, one round trip per node.
   * @returns one settled result per call; the reasons are those that `run` throws.
   */
  async pipeline<const C extends readonly ScriptCall[]>(
    calls: C,
    options: CallOptions = {},
  ): Promise<PipelineOutcomes<C>> {
    this.#open();
    const { clock, callTimeoutMs } = this.options;
    const deadline = clock.monotonicMs() + (options.timeoutMs ?? callTimeoutMs);
    const outcomes: PromiseSettledResult<unknown>[] = [];
    let open = calls.map((call, at) => ({ call, at, inFull: false }));
    while (open.length > 0) {
      const commands = open.map(({ call, inFull }) => commandOf(call, inFull));
      const replies = await this.#exchange(commands, deadline);
      const again: typeof open = [];
      for (const [index, { call, at, inFull }] of open.entries()) {
        const reply = replies[index] as PromiseSettledResult<unknown>;
        if (reply.status === 'fulfilled') {
          outcomes[at] = { status: 'fulfilled', value: call.decode(reply.value) };
          continue;
        }
        const next = this.#afterFailure(reply.reason, deadline);
        if (next === 'give up') {
          outcomes[at] = { status: 'rejected', reason: toRedisError(reply.reason, call.script.name) };
        } else again.push({ call, at, inFull: inFull || next === 'in full' });
      }
      open = again;
    }
    return outcomes as PipelineOutcomes<C>;
  }

  async #start(): Promise<void> {
    await this.#lifecycle.start();
    try {
      await this.#link.ready(this.options.callTimeoutMs);
    } catch (error) {
      throw toRedisError(error, 'the connection');
    }
  }

  #open(): void {
    // Refused only when `stop` has just been called, which the call itself reports.
    if (this.state === 'IDLE') this.#lifecycle.start().catch(() => {});
  }

  async #exchange(
    commands: readonly RedisCommand[],
    deadline: number,
  ): Promise<PromiseSettledResult<unknown>[]> {
    try {
      return await this.#link.sendAll(commands, deadline - this.options.clock.monotonicMs());
    } catch (reason) {
      return commands.map(() => ({ status: 'rejected', reason }));
    }
  }

  #afterFailure(error: unknown, deadline: number): 'again' | 'in full' | 'give up' {
    // Our own errors, deadline and stopped, are final.
    if (error instanceof MillraceError) return 'give up';
    const { kind } = verdictOf(error);
    if (kind === 'no-script') return 'in full';
    return kind === 'connection' && this.options.clock.monotonicMs() < deadline ? 'again' : 'give up';
  }
}

function commandOf({ script, parameters }: ScriptCall, inFull: boolean): RedisCommand {
  return inFull ? ['EVAL', [script.source, ...parameters]] : ['EVALSHA', [script.sha, ...parameters]];
}
