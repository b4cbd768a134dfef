import { type CancelTimer, ERRORS as FOUNDATION_ERRORS, sleep, withDeadline } from '@millrace/foundation';
import {
  type Redirection,
  readRedirection,
  readSlotOwners,
  type SlotOwners,
  slotOfCommand,
  slotOfKey,
} from './cluster-slots.js';
import { type Connections, type RedisArgument, ServerConnection } from './connection.js';
import { classifyFailure, ERRORS, stoppedError, timeoutError } from './errors.js';
import { addressOf, type NodeAddress, natAddress, nodeAt, seedNodes } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** The end of a call's time by the monotonic clock, and the length of that time for the error. */
interface Deadline {
  readonly at: number;
  readonly timeoutMs: number;
}

/** After this long without one node, a call checks whether another node has its keys by now. */
const RECHECK_MS = 100;
const REFRESH_PAUSE_MS = 50;
/** Several nodes, because one may be frozen. Not all, because that would load a large cluster. */
const NODES_PER_REFRESH = 3;
/** A node without slots still redirects the commands in flight to it. One that is silent for longer is cut off. */
const RETIRE_MS = 200;
const RETRY_MS = 25;
const LAST_ATTEMPT_MS = 2 * RETRY_MS;

/**
 * The masters of a Redis Cluster, their slots, and a connection to each. A node that is down or frozen fails only its own
 * calls. A command that a node redirected or put off is sent again until its deadline; one that may have been executed
 * never is.
 *
 * The slot table comes from the first node that replies. Every MOVED corrects it, and every failure causes it to be read
 * again.
 */
export class ClusterConnections implements Connections {
  readonly #connections = new Map<string, ServerConnection>();
  readonly #retired = new Map<ServerConnection, CancelTimer>();
  readonly #listeners: (() => void)[] = [];
  #owners: SlotOwners | undefined;
  #refreshing: Promise<void> | undefined;
  #nextRefreshAt = 0;
  #lastError: unknown;
  #stopped = false;
  #generationsRetired = 0;

  /** @param options - they name some nodes, or an ioredis Cluster. */
  constructor(private readonly options: ResolvedRedisConnectionOptions) {}

  get isReady(): boolean {
    return this.#owners !== undefined && this.#masters().every(({ isReady }) => isReady);
  }

  get generation(): number {
    let count = this.#generationsRetired;
    for (const { generation } of this.#connections.values()) count += generation;
    return count;
  }

  open(): void {
    void this.refresh();
  }

  stop(): void {
    this.#stopped = true;
    for (const connection of this.#connections.values()) connection.stop();
    for (const [connection, cancel] of this.#retired) {
      cancel();
      connection.stop();
    }
    this.#retired.clear();
  }

  ready(timeoutMs: number): Promise<unknown> {
    return this.serverOf(undefined, timeoutMs);
  }

  async masters(timeoutMs: number): Promise<ServerConnection[]> {
    await this.#known(this.#deadlineIn(timeoutMs));
    return this.#masters();
  }

  slotOf(key: string): number {
    return slotOfKey(key);
  }

  addressOf(key: string): string | undefined {
    return this.#ownerOf(slotOfKey(key));
  }

  serverOf(key: string | undefined, timeoutMs: number): Promise<ServerConnection> {
    return this.#connectionFor(key === undefined ? undefined : slotOfKey(key), this.#deadlineIn(timeoutMs));
  }

  onMove(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the slot table, or joins the read in progress. Never rejects. */
  refresh(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#refreshing ??= this.#readOwners()
      .catch((error: unknown) => {
        this.#lastError = error instanceof AggregateError ? error.errors[0] : error;
      })
      .finally(() => {
        this.#nextRefreshAt = this.options.clock.monotonicMs() + REFRESH_PAUSE_MS;
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }

  /** Sends a command to the node that has its keys and follows redirections, within the deadline. */
  async send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown> {
    const deadline = this.#deadlineIn(timeoutMs);
    const slot = slotOfCommand(name, args);
    let redirectedTo: ServerConnection | undefined;
    for (let attempt = 1; ; attempt++) {
      const connection = redirectedTo ?? (await this.#connectionFor(slot, deadline));
      try {
        if (redirectedTo) {
          await redirectedTo.ready(this.#leftMs(deadline));
          // Counts for the next command only, so both are sent in one turn. The command reports its failure.
          redirectedTo.send('ASKING', [], this.#leftMs(deadline)).catch(() => {});
        }
        return await connection.send(name, args, this.#leftMs(deadline));
      } catch (error) {
        const next = this.#afterFailure(error, connection);
        if (next === undefined) throw error;
        // The first redirection is followed at once. Nodes that disagree about a slot need a moment to agree.
        const needsPause = next.kind === 'later' || attempt > 1;
        if (this.#leftMs(deadline) <= (needsPause ? LAST_ATTEMPT_MS : 0)) {
          // The node's reason says more than a deadline that passes in the next attempt. A redirection says nothing.
          if (classifyFailure(error).kind === 'unavailable') throw error;
          throw timeoutError(name, timeoutMs, error);
        }
        redirectedTo =
          next.kind === 'ask' ? this.#connectionTo(this.#addressFrom(connection, next)) : undefined;
        if (needsPause) await sleep(this.options.clock, RETRY_MS);
      }
    }
  }

  /** Waits for the first slot table. */
  async #known(deadline: Deadline): Promise<void> {
    while (!this.#owners) {
      this.#requireTime(deadline);
      await withDeadline(this.options.clock, Math.max(0, this.#leftMs(deadline)), this.refresh());
    }
  }

  #ownerOf(slot: number): string | undefined {
    return this.#owners?.bySlot[slot];
  }

  /** Returns the connection to a slot's node, or to any node, as soon as it can send. Follows the slot meanwhile. */
  async #connectionFor(slot: number | undefined, deadline: Deadline): Promise<ServerConnection> {
    for (;;) {
      await this.#known(deadline);
      const connection = this.#choose(slot);
      if (connection.isReady) return connection;
      try {
        await connection.ready(Math.min(this.#leftMs(deadline), RECHECK_MS));
        return connection;
      } catch (error) {
        this.#lastError = (error as Error).cause ?? error;
      }
      this.#requireTime(deadline);
      void this.refresh();
    }
  }

  #connectionTo(node: NodeAddress): ServerConnection {
    const address = addressOf(node);
    let connection = this.#connections.get(address);
    if (!connection) {
      connection = new ServerConnection(this.options, 'commands', node);
      if (this.#stopped) connection.stop();
      this.#connections.set(address, connection);
      connection.open();
    }
    return connection;
  }

  /** Returns the address of a node that another node named. An empty host means the host of the other node. */
  #addressFrom({ address }: ServerConnection, { host, port }: NodeAddress): NodeAddress {
    return natAddress(this.options, { host: host === '' ? nodeAt(address).host : host, port });
  }

  /** Corrects the owner of a slot after a MOVED. */
  #moved(slot: number, node: NodeAddress): void {
    this.#connectionTo(node);
    if (this.#owners) this.#owners.bySlot[slot] = addressOf(node);
    this.#notifyMoved();
    void this.refresh();
  }

  /** Learns from a failure. Returns a redirection if the command was not executed and may be sent again. */
  #afterFailure(error: unknown, connection: ServerConnection): Redirection | undefined {
    if (this.#stopped) return undefined;
    // The connection was retired between the choice and the sending.
    if (FOUNDATION_ERRORS.is(error, 'SERVICE_STOPPED')) return { kind: 'later' };
    const isLost = ERRORS.is(error, 'REDIS_TIMEOUT') || classifyFailure(error).kind === 'connection';
    const redirection = isLost ? undefined : readRedirection((error as Error).message);
    if (redirection?.kind === 'moved') {
      this.#moved(redirection.slot, this.#addressFrom(connection, redirection));
    } else if (isLost || redirection?.kind === 'later') void this.refresh();
    return redirection;
  }

  #deadlineIn(timeoutMs: number): Deadline {
    return { at: this.options.clock.monotonicMs() + timeoutMs, timeoutMs };
  }

  #leftMs({ at }: Deadline): number {
    return at - this.options.clock.monotonicMs();
  }

  #masters(): ServerConnection[] {
    return [...(this.#owners?.addresses ?? [])].map((address) => this.#connectionTo(nodeAt(address)));
  }

  #choose(slot: number | undefined): ServerConnection {
    const owner = slot === undefined ? undefined : this.#ownerOf(slot);
    if (owner !== undefined) return this.#connections.get(owner) ?? this.#connectionTo(nodeAt(owner));
    // Any master can execute a command without a key, or report that the slot has no master.
    const masters = this.#masters();
    const ready = masters.filter(({ isReady }) => isReady);
    const from = ready.length > 0 ? ready : masters;
    return from[this.options.rng.integer(0, from.length - 1)] as ServerConnection;
  }

  async #readOwners(): Promise<void> {
    const { clock } = this.options;
    const pauseMs = this.#nextRefreshAt - clock.monotonicMs();
    if (pauseMs > 0) await sleep(clock, pauseMs);
    if (this.#stopped) return;
    const owners = await Promise.any(this.#nodesToAsk().map((node) => this.#ownersFrom(node)));
    if (this.#stopped) return;
    this.#owners = owners;
    for (const address of owners.addresses) this.#connectionTo(nodeAt(address));
    for (const [address, connection] of this.#connections) {
      if (!owners.addresses.has(address)) this.#retire(address, connection);
    }
    this.#notifyMoved();
  }

  #notifyMoved(): void {
    for (const listener of this.#listeners) listener();
  }

  #nodesToAsk(): ServerConnection[] {
    const ready = [...this.#connections.values()].filter(({ isReady }) => isReady);
    if (ready.length > 0) {
      const start = this.options.rng.integer(0, ready.length - 1);
      return [...ready.slice(start), ...ready.slice(0, start)].slice(0, NODES_PER_REFRESH);
    }
    // All nodes may have new addresses, so the ones from the options are tried again.
    for (const node of seedNodes(this.options)) this.#connectionTo(node);
    return [...this.#connections.values()];
  }

  async #ownersFrom(connection: ServerConnection): Promise<SlotOwners> {
    const reply = await connection.send('CLUSTER', ['SLOTS'], this.options.connectTimeoutMs);
    // '?' stands for a node whose address is unknown.
    const owners = readSlotOwners(reply, (host, port) =>
      host === '?' ? undefined : addressOf(this.#addressFrom(connection, { host, port })),
    );
    if (owners.addresses.size === 0) throw new Error(`${connection.address} knows of no slots`);
    return owners;
  }

  #retire(address: string, connection: ServerConnection): void {
    this.#connections.delete(address);
    this.#generationsRetired += connection.generation;
    const end = () => {
      this.#retired.delete(connection);
      connection.stop();
    };
    this.#retired.set(connection, this.options.clock.setTimer(RETIRE_MS, end, { unref: true }));
  }

  #requireTime(deadline: Deadline): void {
    if (this.#stopped) throw stoppedError();
    if (this.#leftMs(deadline) > 0) return;
    throw timeoutError('a connection attempt', deadline.timeoutMs, this.#lastError);
  }
}
