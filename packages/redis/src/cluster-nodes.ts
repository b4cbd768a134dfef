import { type CancelTimer, sleep, withDeadline } from '@millrace/foundation';
import { readSlotOwners, type SlotOwners } from './cluster-slots.js';
import { ServerConnection } from './connection.js';
import { stoppedError, timeoutError } from './errors.js';
import { type NodeAddress, natAddress, seedNodes } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** The end of a call's time by the monotonic clock, and the length of that time for the error. */
export interface Deadline {
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

/**
 * The masters of a Redis Cluster, their slots, and a connection to each. The slot table comes from the first node that
 * replies. Every MOVED corrects it, and every failure causes it to be read again.
 */
export class ClusterNodes {
  readonly #connections = new Map<string, ServerConnection>();
  readonly #retired = new Map<ServerConnection, CancelTimer>();
  #owners: SlotOwners | undefined;
  #refreshing: Promise<void> | undefined;
  #nextRefreshAt = 0;
  #lastError: unknown;
  #stopped = false;
  #generationsRetired = 0;

  /** @param onMove - called when slots may have moved to another node. */
  constructor(
    private readonly options: ResolvedRedisConnectionOptions,
    private readonly onMove: () => void,
  ) {}

  get isStopped(): boolean {
    return this.#stopped;
  }

  get isReady(): boolean {
    return this.#owners !== undefined && this.masters().every(({ isReady }) => isReady);
  }

  get generation(): number {
    let count = this.#generationsRetired;
    for (const { generation } of this.#connections.values()) count += generation;
    return count;
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

  /** Waits for the first slot table. */
  async known(deadline: Deadline): Promise<void> {
    while (!this.#owners) {
      this.#requireTime(deadline);
      await withDeadline(this.options.clock, Math.max(0, this.leftMs(deadline)), this.refresh());
    }
  }

  ownerOf(slot: number): string | undefined {
    return this.#owners?.bySlot[slot];
  }

  masters(): ServerConnection[] {
    return [...(this.#owners?.addresses ?? [])].map((address) => this.connectionTo(parsed(address)));
  }

  /** Returns the connection to a slot's node, or to any node, as soon as it can send. Follows the slot meanwhile. */
  async connectionFor(slot: number | undefined, deadline: Deadline): Promise<ServerConnection> {
    for (;;) {
      await this.known(deadline);
      const connection = this.#choose(slot);
      if (connection.isReady) return connection;
      try {
        await connection.ready(Math.min(this.leftMs(deadline), RECHECK_MS));
        return connection;
      } catch (error) {
        this.#lastError = (error as Error).cause ?? error;
      }
      this.#requireTime(deadline);
      void this.refresh();
    }
  }

  connectionTo(node: NodeAddress): ServerConnection {
    const address = formatted(node);
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
  addressFrom({ address }: ServerConnection, { host, port }: NodeAddress): NodeAddress {
    return natAddress(this.options, { host: host === '' ? parsed(address).host : host, port });
  }

  /** Corrects the owner of a slot after a MOVED. */
  moved(slot: number, node: NodeAddress): void {
    this.connectionTo(node);
    if (this.#owners) this.#owners.bySlot[slot] = formatted(node);
    this.onMove();
    void this.refresh();
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

  deadlineIn(timeoutMs: number): Deadline {
    return { at: this.options.clock.monotonicMs() + timeoutMs, timeoutMs };
  }

  leftMs({ at }: Deadline): number {
    return at - this.options.clock.monotonicMs();
  }

  #choose(slot: number | undefined): ServerConnection {
    const owner = slot === undefined ? undefined : this.ownerOf(slot);
    if (owner !== undefined) return this.#connections.get(owner) ?? this.connectionTo(parsed(owner));
    // Any master can execute a command without a key, or report that nobody serves the slot.
    const masters = this.masters();
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
    for (const address of owners.addresses) this.connectionTo(parsed(address));
    for (const [address, connection] of this.#connections) {
      if (!owners.addresses.has(address)) this.#retire(address, connection);
    }
    this.onMove();
  }

  #nodesToAsk(): ServerConnection[] {
    const ready = [...this.#connections.values()].filter(({ isReady }) => isReady);
    if (ready.length > 0) {
      const start = this.options.rng.integer(0, ready.length - 1);
      return [...ready.slice(start), ...ready.slice(0, start)].slice(0, NODES_PER_REFRESH);
    }
    // All nodes may have new addresses, so the ones from the options are tried again.
    for (const node of seedNodes(this.options)) this.connectionTo(node);
    return [...this.#connections.values()];
  }

  async #ownersFrom(connection: ServerConnection): Promise<SlotOwners> {
    const reply = await connection.send('CLUSTER', ['SLOTS'], this.options.connectTimeoutMs);
    // '?' stands for a node whose address is unknown.
    const owners = readSlotOwners(reply, (host, port) =>
      host === '?' ? undefined : formatted(this.addressFrom(connection, { host, port })),
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
    if (this.leftMs(deadline) > 0) return;
    throw timeoutError('a connection attempt', deadline.timeoutMs, this.#lastError);
  }
}

const formatted = ({ host, port }: NodeAddress): string => `${host}:${port}`;

function parsed(address: string): NodeAddress {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
