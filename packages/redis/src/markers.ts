import { type Linked, LinkedList, sleep } from '@millrace/foundation';
import type { Connections, ServerConnection } from './connection.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** The reason why a wait ended. Only a hint: check whether there is work, and wait again if not. */
export type WaitOutcome = 'woken' | 'timeout' | 'aborted';

/** Options of one wait. */
export interface MarkerWaitOptions {
  /** Maximum duration. Never longer than the connection's `pollMs`, so that a lost marker costs one poll. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait at once. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiter extends Linked<Waiter> {
  readonly key: string;
  end(outcome: WaitOutcome): void;
}

/**
 * Waits for markers that scripts push (`-- include: mark`). One blocking connection serves all waiters of this process;
 * in a Redis Cluster one per slot, since a blocking call cannot span slots. It follows the slot to another node. A
 * marker only wakes and carries no work, so a marker that is lost with its connection costs one poll.
 */
export class Markers {
  readonly #bySlot = new Map<number, BlockingConnection>();
  #stopped = false;

  /** @param commands - the connections of the RedisConnection, for commands that must not wait behind a blocking call. */
  constructor(
    private readonly options: ResolvedRedisConnectionOptions,
    private readonly commands: Connections,
  ) {
    commands.onMove(() => {
      for (const blocking of this.#bySlot.values()) blocking.leaveOldServer();
    });
  }

  /**
   * Waits for a marker on a list. One marker wakes one waiter: the one that has waited longest for its key. Returns why the
   * wait ended, which is `aborted` also after `stop`. Never rejects.
   */
  wait(key: string, options: MarkerWaitOptions = {}): Promise<WaitOutcome> {
    const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
    if (this.#stopped || signal?.aborted) return Promise.resolve('aborted');
    const { clock, rng, pollMs } = this.options;
    const blocking = this.#blockingFor(key);
    return new Promise((resolve) => {
      const onAbort = () => waiter.end('aborted');
      const end = (outcome: WaitOutcome) => {
        cancel();
        signal?.removeEventListener('abort', onAbort);
        blocking.remove(waiter);
        resolve(outcome);
      };
      const waiter: Waiter = { key, end, previous: undefined, next: undefined };
      signal?.addEventListener('abort', onAbort, { once: true });
      // Varied by a quarter either way, so that processes that start together do not poll together.
      const waitMs = Math.min(timeoutMs, pollMs * (0.75 + rng.next() / 2));
      const cancel = clock.setTimer(Math.max(0, waitMs), () => end('timeout'));
      blocking.add(waiter);
    });
  }

  /** Ends every wait and closes the blocking connections. */
  stop(): void {
    this.#stopped = true;
    for (const blocking of this.#bySlot.values()) blocking.stop();
  }

  #blockingFor(key: string): BlockingConnection {
    const slot = this.commands.slotOf(key);
    let blocking = this.#bySlot.get(slot);
    if (!blocking) {
      blocking = new BlockingConnection(this.options, this.commands, key);
      this.#bySlot.set(slot, blocking);
    }
    return blocking;
  }
}

const KEYS_PER_CALL_MAX = 1_000;
const RETRY_MS = 50;
const INTERRUPT_RETRY_MS = 2;
/** Lifetime of an interrupt marker that no call has taken. */
const INTERRUPT_KEPT_MS = 60_000;

/**
 * Ends a blocking call. CLIENT UNBLOCK would crash the server if the call waits for the end of a CLIENT PAUSE or of a
 * failover (redis/redis#14164, in every Redis before the summer of 2025). The script begins with a write that takes no
 * memory, so it also works when memory is full.
 */
const INTERRUPT =
  "redis.call('DEL', KEYS[1]) redis.call('LPUSH', KEYS[1], '1') redis.call('PEXPIRE', KEYS[1], ARGV[1])";

/** Makes one blocking call after the other while there are waiters for keys of its slot. */
class BlockingConnection {
  readonly #waiters = new Map<string, LinkedList<Waiter>>();
  /** A list that every blocking call asks for too. A marker there ends the call. */
  readonly #interruptKey: string;
  #connection: ServerConnection | undefined;
  /** The connection for commands to the same server. */
  #server: ServerConnection | undefined;
  /** The keys of the blocking call in progress. Undefined between two calls. */
  #keysInCall: ReadonlySet<string> | undefined;
  /** True if a waiter needs a key that the call in progress does not ask for. */
  #isOutdated = false;
  #isServing = false;
  #isInterrupting = false;
  #isStopped = false;
  #calls = 0;

  /** @param anyKey - any key of the slot. All of them are on the same server. */
  constructor(
    private readonly options: ResolvedRedisConnectionOptions,
    private readonly commands: Connections,
    private readonly anyKey: string,
  ) {
    // In the same slot: it has the same hash tag, or the whole key as its tag.
    const tagged = /\{[^}]+\}/.test(anyKey) ? anyKey : `{${anyKey}}`;
    this.#interruptKey = `${tagged}:again:${options.rng.next().toString(36).slice(2)}`;
  }

  add(waiter: Waiter): void {
    let queue = this.#waiters.get(waiter.key);
    if (!queue) {
      queue = new LinkedList();
      this.#waiters.set(waiter.key, queue);
    }
    queue.push(waiter);
    if (!this.#isServing) void this.#serve();
    else if (this.#keysInCall && !this.#keysInCall.has(waiter.key)) {
      this.#isOutdated = true;
      void this.#interrupt();
    }
  }

  remove(waiter: Waiter): void {
    const queue = this.#waiters.get(waiter.key);
    queue?.remove(waiter);
    if (queue?.size === 0) this.#waiters.delete(waiter.key);
  }

  /** Ends the call at a server that no longer has the keys. A frozen server would not end it. */
  leaveOldServer(address = this.commands.addressOf(this.anyKey)): void {
    if (this.#connection?.address === address) return;
    this.#connection?.stop();
    this.#connection = undefined;
  }

  stop(): void {
    this.#isStopped = true;
    this.#connection?.stop();
    for (const queue of [...this.#waiters.values()]) for (const waiter of queue) waiter.end('aborted');
  }

  async #serve(): Promise<void> {
    const { clock, rng } = this.options;
    this.#isServing = true;
    while (this.#waiters.size > 0 && !this.#isStopped) {
      try {
        await this.#callOnce();
      } catch {
        // The calls of the waiters that poll meanwhile report it.
        this.#keysInCall = undefined;
        this.commands.refresh();
        await sleep(clock, RETRY_MS * (0.5 + rng.next()));
      }
    }
    this.#isServing = false;
  }

  async #callOnce(): Promise<void> {
    const { blockMs, callTimeoutMs } = this.options;
    const connection = await this.#connect();
    await connection.ready(callTimeoutMs);
    if (this.#waiters.size === 0) return;
    // Redis serves the first key that has a marker. The start moves by one each time, so that no key is always last.
    const all = [...this.#waiters.keys()];
    const start = this.#calls++ % all.length;
    const keys = [...all.slice(start), ...all.slice(0, start)].slice(0, KEYS_PER_CALL_MAX);
    this.#keysInCall = new Set(keys);
    this.#isOutdated = false;
    const args = [...keys, this.#interruptKey, blockMs / 1_000];
    const reply = await connection.send('BLPOP', args, blockMs + callTimeoutMs);
    this.#keysInCall = undefined;
    if (Array.isArray(reply) && reply[0] !== this.#interruptKey) this.#deliver(String(reply[0]));
  }

  async #connect(): Promise<ServerConnection> {
    this.#server = await this.commands.serverOf(this.anyKey, this.options.callTimeoutMs);
    this.leaveOldServer(this.#server.address);
    // A blocking call without a reply in time has a dead connection, so the watchdog replaces it at once.
    this.#connection ??= this.#server.sibling('markers', { watchdogMs: 1 });
    if (this.#isStopped) this.#connection.stop();
    return this.#connection;
  }

  #deliver(key: string): void {
    const waiter = this.#waiters.get(key)?.first;
    if (waiter) waiter.end('woken');
    // No waiter of this process needs the marker any more, but another process may.
    else this.commands.send('LPUSH', [key, '1'], this.options.callTimeoutMs).catch(() => {});
  }

  /** Ends the blocking call in progress, so that the next one asks for a new key too. */
  async #interrupt(): Promise<void> {
    if (this.#isInterrupting) return;
    this.#isInterrupting = true;
    const { clock, callTimeoutMs } = this.options;
    try {
      // Repeated until the next call starts, because the interrupt may reach Redis before the call that it should end.
      while (this.#keysInCall && this.#isOutdated) {
        await this.#server?.send(
          'EVAL',
          [INTERRUPT, 1, this.#interruptKey, INTERRUPT_KEPT_MS],
          callTimeoutMs,
        );
        await sleep(clock, INTERRUPT_RETRY_MS);
      }
    } catch {
      // The new key waits for the end of this call, or for its poll.
    } finally {
      this.#isInterrupting = false;
    }
  }
}
