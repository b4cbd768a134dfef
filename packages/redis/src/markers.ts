import { type CancelTimer, sleep } from '@millrace/foundation';
import type { Connections, ServerConnection } from './connection.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** Why a wait ended. Only a hint: whoever was woken looks whether there is something, and waits again if not. */
export type WaitOutcome = 'woken' | 'timeout' | 'aborted';

/** How long to wait for a marker. */
export interface MarkerWaitOptions {
  /** Ends the wait at the latest; never longer than the connection's `pollMs`, so that a lost marker costs one poll. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait at once. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  wake(): void;
  end(): void;
}

/** The waiters that share one blocking connection. */
interface Lane {
  /** Any key of the lane: where it is, all are. */
  readonly key: string;
  /** The blocking connection, and the one for commands to the same server; none until known, or when that has changed. */
  link: ServerConnection | undefined;
  home: ServerConnection | undefined;
  /** By key; those of one key in the order they came. */
  readonly waiters: Map<string, Set<Waiter>>;
  running: boolean;
  /** What the blocking call under way asks for; undefined between two calls. */
  asked: ReadonlySet<string> | undefined;
  /** Somebody waits for a key that the call under way does not ask for. */
  stale: boolean;
  round: number;
  interrupting: boolean;
  /** A list of its own, which every blocking call asks for too: a marker there ends the call. */
  readonly againKey: string;
}

const KEYS_PER_ROUND_MAX = 1_000;
const RETRY_MS = 50;
const INTERRUPT_RETRY_MS = 2;

/**
 * Ends the blocking call of a lane. Not by CLIENT UNBLOCK, which ends the server itself when the call waits for the end of a CLIENT PAUSE or a
 * failover (redis/redis#14164, every Redis before the summer of 2025). It begins with a write that takes no memory: it works when there is none left.
 */
const INTERRUPT =
  "redis.call('DEL', KEYS[1]) redis.call('LPUSH', KEYS[1], '1') redis.call('PEXPIRE', KEYS[1], ARGV[1])";
/** What nobody fetched goes by itself. */
const AGAIN_KEPT_MS = 60_000;

/**
 * Waits for markers that scripts push (`-- include: mark`). One blocking connection serves any number of waiters and
 * keys of this process; in a Redis Cluster one per slot, since a blocking call cannot span slots. It follows the slot to
 * another node. The blocking call only wakes: work is never in a marker, so a marker lost with its connection costs one
 * poll and nothing else.
 */
export class Markers {
  readonly #options: ResolvedRedisConnectionOptions;
  readonly #commands: Connections;
  readonly #lanes = new Map<number, Lane>();
  #stopped = false;

  /** @param commands - the connection's own links, for what must not wait behind a blocking call. */
  constructor(options: ResolvedRedisConnectionOptions, commands: Connections) {
    this.#options = options;
    this.#commands = commands;
    commands.onMove(() => this.#leaveOldHomes());
  }

  /**
   * Waits for a marker on a list. One marker wakes one waiter, the one that has waited longest for its key.
   * @param options - how long, and what ends the wait early.
   * @returns why the wait ended; `aborted` also when the connection is stopped. Never rejects.
   */
  wait(key: string, options: MarkerWaitOptions = {}): Promise<WaitOutcome> {
    const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
    if (this.#stopped || signal?.aborted) return Promise.resolve('aborted');
    const { clock, rng, pollMs } = this.#options;
    const lane = this.#laneOf(key);
    return new Promise((resolve) => {
      const finish = (outcome: WaitOutcome) => {
        cancel();
        signal?.removeEventListener('abort', onAbort);
        const line = lane.waiters.get(key);
        line?.delete(waiter);
        if (line?.size === 0) lane.waiters.delete(key);
        resolve(outcome);
      };
      const waiter: Waiter = { wake: () => finish('woken'), end: () => finish('aborted') };
      const onAbort = waiter.end;
      signal?.addEventListener('abort', onAbort, { once: true });
      // Scattered by a quarter either way: processes that start together must not poll together.
      const patienceMs = Math.min(timeoutMs, pollMs * (0.75 + rng.next() / 2));
      const cancel: CancelTimer = clock.setTimer(Math.max(0, patienceMs), () => finish('timeout'));
      this.#enter(lane, key, waiter);
    });
  }

  /** How many wait at the moment; for tests and metrics. */
  get waiting(): number {
    let count = 0;
    for (const { waiters } of this.#lanes.values()) for (const line of waiters.values()) count += line.size;
    return count;
  }

  /** Ends every wait and closes the blocking connections. */
  stop(): void {
    this.#stopped = true;
    for (const { link, waiters } of this.#lanes.values()) {
      link?.stop();
      for (const line of [...waiters.values()]) for (const waiter of [...line]) waiter.end();
    }
  }

  #laneOf(key: string): Lane {
    const name = this.#commands.slotOf(key);
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = {
        key,
        link: undefined,
        home: undefined,
        waiters: new Map(),
        running: false,
        asked: undefined,
        stale: false,
        round: 0,
        interrupting: false,
        againKey: againKeyOf(key, this.#options.rng.next()),
      };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  /** Ends the blocking calls at servers that no longer hold the keys: one that is frozen would not end them. */
  #leaveOldHomes(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.link?.address !== this.#commands.addressOf(lane.key)) leaveHome(lane);
    }
  }

  #enter(lane: Lane, key: string, waiter: Waiter): void {
    const line = lane.waiters.get(key);
    if (line) line.add(waiter);
    else lane.waiters.set(key, new Set([waiter]));
    if (!lane.running) void this.#serve(lane);
    else if (lane.asked && !lane.asked.has(key)) {
      lane.stale = true;
      void this.#interrupt(lane);
    }
  }

  async #serve(lane: Lane): Promise<void> {
    const { clock, rng } = this.#options;
    lane.running = true;
    while (lane.waiters.size > 0 && !this.#stopped) {
      try {
        await this.#round(lane);
      } catch {
        // Told by the calls of those who poll meanwhile; here only the pace matters.
        lane.asked = undefined;
        this.#commands.refresh();
        await sleep(clock, RETRY_MS * (0.5 + rng.next()));
      }
    }
    lane.running = false;
  }

  async #round(lane: Lane): Promise<void> {
    const { waiters } = lane;
    const { blockMs, callTimeoutMs } = this.#options;
    const link = await this.#blockingLink(lane);
    await link.ready(callTimeoutMs);
    if (waiters.size === 0) return;
    // Redis serves the first key that has a marker: turned by one each time, no key is always last.
    const all = [...waiters.keys()];
    const start = lane.round++ % all.length;
    const keys = [...all.slice(start), ...all.slice(0, start)].slice(0, KEYS_PER_ROUND_MAX);
    lane.asked = new Set(keys);
    lane.stale = false;
    const asked = [...keys, lane.againKey, blockMs / 1_000];
    const reply = await link.send('BLPOP', asked, blockMs + callTimeoutMs);
    lane.asked = undefined;
    if (Array.isArray(reply) && reply[0] !== lane.againKey) this.#deliver(lane, String(reply[0]));
  }

  async #blockingLink(lane: Lane): Promise<ServerConnection> {
    const home = await this.#commands.serverOf(lane.key, this.#options.callTimeoutMs);
    if (lane.link?.address !== home.address) leaveHome(lane);
    lane.home = home;
    // A blocking call that is not answered in time has a dead connection under it: no second chance.
    lane.link ??= home.sibling('markers', { watchdogMs: 1 });
    if (this.#stopped) lane.link.stop();
    return lane.link;
  }

  #deliver(lane: Lane, key: string): void {
    const [waiter] = lane.waiters.get(key) ?? [];
    if (waiter) waiter.wake();
    // Whoever waited for it here has given up meanwhile: another process may need it.
    else this.#commands.send('LPUSH', [key, '1'], this.#options.callTimeoutMs).catch(() => {});
  }

  /** Ends the blocking call under way, so that the next one asks for a new key as well. */
  async #interrupt(lane: Lane): Promise<void> {
    if (lane.interrupting) return;
    lane.interrupting = true;
    const { clock, callTimeoutMs } = this.#options;
    try {
      // Until the next call goes out; one more key may come while it does.
      while (lane.asked && lane.stale) {
        await lane.home?.send('EVAL', [INTERRUPT, 1, lane.againKey, AGAIN_KEPT_MS], callTimeoutMs);
        await sleep(clock, INTERRUPT_RETRY_MS);
      }
    } catch {
      // The new key waits for the end of this round, or for its poll.
    } finally {
      lane.interrupting = false;
    }
  }
}

function leaveHome(lane: Lane): void {
  lane.link?.stop();
  lane.link = undefined;
}

/** Where the key is, this one is too: it has the same hash tag, or the whole key for one. */
function againKeyOf(key: string, random: number): string {
  const id = random.toString(36).slice(2);
  return `${/\{[^}]+\}/.test(key) ? key : `{${key}}`}:again:${id}`;
}
