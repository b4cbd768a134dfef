import { type CancelTimer, ERRORS as FOUNDATION_ERRORS, sleep } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import { Link } from './link.js';
import { type NodeAddress, natAddress, seedNodes } from './open-client.js';
import type { ResolvedRedisConnectionOptions } from './options.js';
import { readSlotOwners, type SlotOwners } from './rules/cluster-slots.js';

/** When a caller gives up, and how long that was from the start, for the message. */
export interface Deadline {
  readonly at: number;
  readonly timeoutMs: number;
}

/** How long a caller waits for one node before it looks whether another has its keys by now. */
const LOOK_AGAIN_MS = 100;
const REFRESH_PAUSE_MS = 50;
/** Several at once: the first that is asked may be the frozen one. All of them would be a burden on a large cluster. */
const ASKED_AT_ONCE = 3;
/** A node without slots still answers MOVED for what is on its way to it; one that is silent for longer is cut off. */
const RETIRE_MS = 200;

/**
 * The masters of a Redis Cluster, who of them has which slot, and a link to each. The slot table comes from any node that
 * answers, is corrected by every MOVED, and is asked for again whenever somebody has doubts.
 */
export class ClusterNodes {
  readonly #options: ResolvedRedisConnectionOptions;
  readonly #links = new Map<string, Link>();
  readonly #retired = new Map<Link, CancelTimer>();
  readonly #onMove: () => void;
  #owners: { readonly bySlot: (string | undefined)[]; readonly addresses: ReadonlySet<string> } | undefined;
  #refreshing: Promise<void> | undefined;
  #nextRefreshAt = 0;
  #lastError: unknown;
  #stopped = false;
  #generationsRetired = 0;

  /**
   * @param options - of the connection; they name some nodes, or an ioredis Cluster.
   * @param onMove - called whenever slots may have come to another node.
   */
  constructor(options: ResolvedRedisConnectionOptions, onMove: () => void) {
    this.#options = options;
    this.#onMove = onMove;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  get isReady(): boolean {
    return this.#owners !== undefined && this.masters().every((link) => link.isReady);
  }

  get generation(): number {
    let count = this.#generationsRetired;
    for (const link of this.#links.values()) count += link.generation;
    return count;
  }

  stop(): void {
    this.#stopped = true;
    for (const link of this.#links.values()) link.stop();
    for (const [link, cancel] of this.#retired) {
      cancel();
      link.stop();
    }
    this.#retired.clear();
  }

  /** Waits for the first slot table. */
  async known(deadline: Deadline): Promise<void> {
    while (!this.#owners) {
      this.#requireTime(deadline);
      await this.#orDeadline(this.refresh(), deadline);
    }
  }

  ownerOf(slot: number): string | undefined {
    return this.#owners?.bySlot[slot];
  }

  masters(): Link[] {
    return [...(this.#owners?.addresses ?? [])].map((name) => this.linkAt(addressNamed(name)));
  }

  /** The link to a slot's node, or to any, ready to send; looks again whose the slot is while that cannot be reached. */
  async linkFor(slot: number | undefined, deadline: Deadline): Promise<Link> {
    for (;;) {
      await this.known(deadline);
      const link = this.#choose(slot);
      if (link.isReady) return link;
      try {
        await link.ready(Math.min(this.leftMs(deadline), LOOK_AGAIN_MS));
        return link;
      } catch (error) {
        this.#lastError = (error as Error).cause ?? error;
      }
      this.#requireTime(deadline);
      void this.refresh();
    }
  }

  linkAt(node: NodeAddress): Link {
    const name = nameOf(node);
    let link = this.#links.get(name);
    if (!link) {
      link = new Link(this.#options, 'commands', node);
      if (this.#stopped) link.stop();
      this.#links.set(name, link);
      link.open();
    }
    return link;
  }

  /** The address of a node that another one has named; without a host it means its own. */
  addressSaidBy(link: Link, { host, port }: NodeAddress): NodeAddress {
    return natAddress(this.#options, { host: host === '' ? hostOf(link.address) : host, port });
  }

  /** A node has said by MOVED who has a slot. */
  moved(slot: number, node: NodeAddress): void {
    this.linkAt(node);
    if (this.#owners) this.#owners.bySlot[slot] = nameOf(node);
    this.#onMove();
    void this.refresh();
  }

  /** Asks who has which slot; callers share what is under way. Never rejects. */
  refresh(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#refreshing ??= this.#askForOwners()
      .catch((error: unknown) => {
        this.#lastError = error instanceof AggregateError ? error.errors[0] : error;
      })
      .finally(() => {
        this.#nextRefreshAt = this.#options.clock.monotonicMs() + REFRESH_PAUSE_MS;
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }

  deadlineIn(timeoutMs: number): Deadline {
    return { at: this.#options.clock.monotonicMs() + timeoutMs, timeoutMs };
  }

  leftMs({ at }: Deadline): number {
    return at - this.#options.clock.monotonicMs();
  }

  #choose(slot: number | undefined): Link {
    const owner = slot === undefined ? undefined : this.ownerOf(slot);
    if (owner !== undefined) return this.#links.get(owner) ?? this.linkAt(addressNamed(owner));
    // No key, or a slot that nobody serves: whoever is asked says so.
    const masters = this.masters();
    const ready = masters.filter((link) => link.isReady);
    const from = ready.length > 0 ? ready : masters;
    return from[this.#options.rng.integer(0, from.length - 1)] as Link;
  }

  async #askForOwners(): Promise<void> {
    const { clock, connectTimeoutMs } = this.#options;
    const pauseMs = this.#nextRefreshAt - clock.monotonicMs();
    if (pauseMs > 0) await sleep(clock, pauseMs);
    if (this.#stopped) return;
    const owners = await Promise.any(
      this.#whomToAsk().map((link) => this.#ownersFrom(link, connectTimeoutMs)),
    );
    if (this.#stopped) return;
    this.#owners = { bySlot: [...owners.bySlot], addresses: owners.addresses };
    for (const name of owners.addresses) this.linkAt(addressNamed(name));
    for (const [name, link] of this.#links) if (!owners.addresses.has(name)) this.#retire(name, link);
    this.#onMove();
  }

  #whomToAsk(): Link[] {
    const ready = [...this.#links.values()].filter((link) => link.isReady);
    if (ready.length > 0) {
      const start = this.#options.rng.integer(0, ready.length - 1);
      return [...ready.slice(start), ...ready.slice(0, start)].slice(0, ASKED_AT_ONCE);
    }
    // All may have got new addresses: back to the nodes that we were given.
    for (const node of seedNodes(this.#options)) this.linkAt(node);
    return [...this.#links.values()];
  }

  async #ownersFrom(link: Link, timeoutMs: number): Promise<SlotOwners> {
    const reply = await link.send('CLUSTER', ['SLOTS'], timeoutMs);
    // '?' is a node whose address nobody knows.
    const owners = readSlotOwners(reply, (host, port) =>
      host === '?' ? undefined : nameOf(this.addressSaidBy(link, { host, port })),
    );
    if (owners.addresses.size === 0) throw new Error(`${link.address} knows of no slots`);
    return owners;
  }

  #retire(name: string, link: Link): void {
    this.#links.delete(name);
    this.#generationsRetired += link.generation;
    const end = () => {
      this.#retired.delete(link);
      link.stop();
    };
    this.#retired.set(link, this.#options.clock.setTimer(RETIRE_MS, end, { unref: true }));
  }

  #requireTime(deadline: Deadline): void {
    if (this.#stopped) {
      throw FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The Redis connection' });
    }
    if (this.leftMs(deadline) <= 0) throw tooLate('a connection attempt', deadline, this.#lastError);
  }

  #orDeadline(work: Promise<void>, deadline: Deadline): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.setTimer(Math.max(0, this.leftMs(deadline)), resolve);
      void work.then(() => {
        cancel();
        resolve();
      });
    });
  }
}

/** The error of a call whose deadline has passed. */
export function tooLate(operation: string, { timeoutMs }: Deadline, cause: unknown): Error {
  return ERRORS.create('REDIS_TIMEOUT', { operation, timeoutMs: Math.round(timeoutMs) }, { cause });
}

const nameOf = ({ host, port }: NodeAddress): string => `${host}:${port}`;

const hostOf = (name: string): string => name.slice(0, name.lastIndexOf(':'));

const addressNamed = (name: string): NodeAddress => ({
  host: hostOf(name),
  port: Number(name.slice(name.lastIndexOf(':') + 1)),
});
