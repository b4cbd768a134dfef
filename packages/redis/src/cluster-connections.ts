import { ERRORS as FOUNDATION_ERRORS, sleep } from '@millrace/foundation';
import { ClusterNodes, type Deadline } from './cluster-nodes.js';
import { type Redirection, readRedirection, slotOfCommand, slotOfKey } from './cluster-slots.js';
import {
  allRejected,
  type Connections,
  type RedisArgument,
  type RedisCommand,
  type ServerConnection,
} from './connection.js';
import { classifyFailure, ERRORS, timeoutError } from './errors.js';
import type { ResolvedRedisConnectionOptions } from './options.js';

const RETRY_MS = 25;
const LAST_ATTEMPT_MS = 2 * RETRY_MS;

/**
 * Sends each command to the master of a Redis Cluster that has its keys, over one connection per master. A node that is
 * down or frozen fails only its own calls. A command that a node redirected or put off is sent again until its deadline;
 * one that may have been executed never is. Every failure causes the slot table to be read again.
 */
export class ClusterConnections implements Connections {
  readonly #nodes: ClusterNodes;
  readonly #listeners: (() => void)[] = [];

  /** @param options - they name some nodes, or an ioredis Cluster. */
  constructor(private readonly options: ResolvedRedisConnectionOptions) {
    this.#nodes = new ClusterNodes(options, () => {
      for (const listener of this.#listeners) listener();
    });
  }

  get isReady(): boolean {
    return this.#nodes.isReady;
  }

  get generation(): number {
    return this.#nodes.generation;
  }

  open(): void {
    this.refresh();
  }

  stop(): void {
    this.#nodes.stop();
  }

  ready(timeoutMs: number): Promise<unknown> {
    return this.serverOf(undefined, timeoutMs);
  }

  async send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown> {
    return this.#deliver([name, args], this.#nodes.deadlineIn(timeoutMs));
  }

  async sendAll(
    commands: readonly RedisCommand[],
    timeoutMs: number,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const deadline = this.#nodes.deadlineIn(timeoutMs);
    try {
      await this.#nodes.known(deadline);
    } catch (error) {
      return allRejected(commands, error);
    }
    const groups = new Map<string | undefined, number[]>();
    for (const [at, command] of commands.entries()) {
      const slot = slotOfCommand(command);
      const owner = slot === undefined ? undefined : this.#nodes.ownerOf(slot);
      const group = groups.get(owner);
      if (group) group.push(at);
      else groups.set(owner, [at]);
    }
    const outcomes: PromiseSettledResult<unknown>[] = [];
    const sendGroup = async (group: readonly number[]) => {
      const own = group.map((at) => commands[at] as RedisCommand);
      for (const [index, outcome] of (await this.#deliverAll(own, deadline)).entries()) {
        outcomes[group[index] as number] = outcome;
      }
    };
    await Promise.all([...groups.values()].map(sendGroup));
    return outcomes;
  }

  async sendToMasters(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown[]> {
    const deadline = this.#nodes.deadlineIn(timeoutMs);
    await this.#nodes.known(deadline);
    const leftMs = this.#nodes.leftMs(deadline);
    try {
      return await Promise.all(this.#nodes.masters().map((master) => master.send(name, args, leftMs)));
    } catch (error) {
      this.refresh(); // A node that failed may be no master any more.
      throw error;
    }
  }

  slotOf(key: string): number {
    return slotOfKey(key);
  }

  addressOf(key: string): string | undefined {
    return this.#nodes.ownerOf(slotOfKey(key));
  }

  serverOf(key: string | undefined, timeoutMs: number): Promise<ServerConnection> {
    const slot = key === undefined ? undefined : slotOfKey(key);
    return this.#nodes.connectionFor(slot, this.#nodes.deadlineIn(timeoutMs));
  }

  refresh(): void {
    void this.#nodes.refresh();
  }

  onMove(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Sends a command to the node that has its keys and follows redirections, within the deadline. */
  async #deliver(command: RedisCommand, deadline: Deadline): Promise<unknown> {
    const nodes = this.#nodes;
    const slot = slotOfCommand(command);
    let asked: ServerConnection | undefined;
    for (let attempt = 1; ; attempt++) {
      const connection = asked ?? (await nodes.connectionFor(slot, deadline));
      try {
        return await (asked ? sendAsking : sendPlain)(connection, command, nodes.leftMs(deadline));
      } catch (error) {
        const next = this.#afterFailure(error, connection);
        if (next === undefined) throw error;
        // The first redirection is followed at once. Nodes that disagree about a slot need a moment to agree.
        const needsPause = next.kind === 'later' || attempt > 1;
        if (nodes.leftMs(deadline) <= (needsPause ? LAST_ATTEMPT_MS : 0)) {
          // The node's reason says more than a deadline that passes in the next attempt. A redirection says nothing.
          throw classifyFailure(error).kind === 'unavailable'
            ? error
            : timeoutError(command[0], deadline.timeoutMs, error);
        }
        asked = next.kind === 'ask' ? nodes.connectionTo(nodes.addressFrom(connection, next)) : undefined;
        if (needsPause) await sleep(this.options.clock, RETRY_MS);
      }
    }
  }

  /** Sends the commands of one node in one write, and then those that it redirects one by one. */
  async #deliverAll(
    commands: readonly RedisCommand[],
    deadline: Deadline,
  ): Promise<PromiseSettledResult<unknown>[]> {
    let connection: ServerConnection;
    try {
      connection = await this.#nodes.connectionFor(slotOfCommand(commands[0] as RedisCommand), deadline);
    } catch (error) {
      return allRejected(commands, error);
    }
    const outcomes = await connection.sendAll(commands, this.#nodes.leftMs(deadline));
    return Promise.all(
      outcomes.map(async (outcome, at): Promise<PromiseSettledResult<unknown>> => {
        if (outcome.status === 'fulfilled' || !this.#afterFailure(outcome.reason, connection)) return outcome;
        const [again] = await Promise.allSettled([this.#deliver(commands[at] as RedisCommand, deadline)]);
        return again;
      }),
    );
  }

  /** Learns from a failure. Returns a redirection if the command was not executed and may be sent again. */
  #afterFailure(error: unknown, connection: ServerConnection): Redirection | undefined {
    if (this.#nodes.isStopped) return undefined;
    // The connection was retired between the choice and the sending.
    if (FOUNDATION_ERRORS.is(error, 'SERVICE_STOPPED')) return { kind: 'later' };
    const isLost = ERRORS.is(error, 'REDIS_TIMEOUT') || classifyFailure(error).kind === 'connection';
    const redirection = isLost ? undefined : readRedirection((error as Error).message);
    if (redirection?.kind === 'moved') {
      this.#nodes.moved(redirection.slot, this.#nodes.addressFrom(connection, redirection));
    } else if (isLost || redirection?.kind === 'later') this.refresh();
    return redirection;
  }
}

const sendPlain = (connection: ServerConnection, [name, args]: RedisCommand, timeoutMs: number) =>
  connection.send(name, args, timeoutMs);

/** ASKING counts for the next command only, so both are sent in one write. */
async function sendAsking(connection: ServerConnection, command: RedisCommand, timeoutMs: number) {
  const [, outcome] = await connection.sendAll([['ASKING', []], command], timeoutMs);
  if (outcome?.status === 'fulfilled') return outcome.value;
  throw outcome?.reason;
}
