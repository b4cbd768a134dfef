import { ERRORS as FOUNDATION_ERRORS, sleep } from '@millrace/foundation';
import { Command } from 'ioredis';
import { ClusterNodes, type Deadline, tooLate } from './cluster-nodes.js';
import { ERRORS } from './errors.js';
import { verdictOf } from './failure.js';
import type { Link } from './link.js';
import type { Links, RedisArgument, RedisCommand } from './links.js';
import type { ResolvedRedisConnectionOptions } from './options.js';
import { type Redirection, readRedirection } from './rules/cluster-slots.js';

const RETRY_MS = 25;
const LAST_TRY_MS = 2 * RETRY_MS;

/**
 * Sends each command to the master of a Redis Cluster that has its keys, over one link per master: a node that is down or
 * frozen fails its own calls and no others. What a node has not executed but sent elsewhere or put off goes out again
 * until its deadline; what may have been executed never does. Every failure makes it look again who has which slot.
 */
export class ClusterLinks implements Links {
  readonly #options: ResolvedRedisConnectionOptions;
  readonly #nodes: ClusterNodes;
  readonly #listeners: (() => void)[] = [];

  /** @param options - of the connection; they name some nodes, or an ioredis Cluster. */
  constructor(options: ResolvedRedisConnectionOptions) {
    this.#options = options;
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
    void this.#nodes.refresh();
  }

  stop(): void {
    this.#nodes.stop();
  }

  async ready(timeoutMs: number): Promise<void> {
    await this.#nodes.linkFor(undefined, this.#nodes.deadlineIn(timeoutMs));
  }

  send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown> {
    return this.#deliver([name, args], this.#nodes.deadlineIn(timeoutMs));
  }

  async sendEverywhere(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown[]> {
    const deadline = this.#nodes.deadlineIn(timeoutMs);
    await this.#nodes.known(deadline);
    const leftMs = this.#nodes.leftMs(deadline);
    try {
      return await Promise.all(this.#nodes.masters().map((link) => link.send(name, args, leftMs)));
    } catch (error) {
      this.doubt(); // Whoever failed may be no master any more.
      throw error;
    }
  }

  async sendAll(
    commands: readonly RedisCommand[],
    timeoutMs: number,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const deadline = this.#nodes.deadlineIn(timeoutMs);
    await this.#nodes.known(deadline);
    const groups = new Map<string | undefined, number[]>();
    for (const [at, command] of commands.entries()) {
      const slot = slotOf(command);
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

  laneOf(key: string): string {
    return String(slotOfKey(key));
  }

  addressOf(key: string): string | undefined {
    return this.#nodes.ownerOf(slotOfKey(key));
  }

  homeOf(key: string | undefined, timeoutMs: number): Promise<Link> {
    const slot = key === undefined ? undefined : slotOfKey(key);
    return this.#nodes.linkFor(slot, this.#nodes.deadlineIn(timeoutMs));
  }

  doubt(): void {
    void this.#nodes.refresh();
  }

  onMove(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Sends a command to whoever has its keys, following redirections, until it was executed, refused or is too late. */
  async #deliver(command: RedisCommand, deadline: Deadline): Promise<unknown> {
    const nodes = this.#nodes;
    const slot = slotOf(command);
    let asked: Link | undefined;
    for (let tries = 0; ; tries++) {
      const link = asked ?? (await nodes.linkFor(slot, deadline));
      try {
        return await sendTo(link, command, nodes.leftMs(deadline), link === asked);
      } catch (error) {
        const next = this.#afterFailure(error, link);
        if (next === undefined) throw error;
        // The first redirection is followed at once; nodes that disagree about a slot need a moment to agree.
        const needsPause = next.kind === 'later' || tries > 0;
        if (nodes.leftMs(deadline) <= (needsPause ? LAST_TRY_MS : 0)) {
          // What the node said tells more than a deadline that passes in the next try; to be sent elsewhere says nothing.
          throw verdictOf(error).kind === 'unavailable' ? error : tooLate(command[0], deadline, error);
        }
        asked = next.kind === 'ask' ? nodes.linkAt(nodes.addressSaidBy(link, next)) : undefined;
        if (needsPause) await sleep(this.#options.clock, RETRY_MS);
      }
    }
  }

  /** Sends commands of one server in one write; what that server sends elsewhere goes there one by one. */
  async #deliverAll(
    commands: readonly RedisCommand[],
    deadline: Deadline,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const rejected = (reason: unknown) => commands.map(() => ({ status: 'rejected', reason }) as const);
    let link: Link;
    try {
      link = await this.#nodes.linkFor(slotOf(commands[0] as RedisCommand), deadline);
    } catch (reason) {
      return rejected(reason);
    }
    const outcomes = await link.sendAll(commands, this.#nodes.leftMs(deadline)).catch(rejected);
    return Promise.all(
      outcomes.map(async (outcome, at): Promise<PromiseSettledResult<unknown>> => {
        if (outcome.status === 'fulfilled' || !this.#afterFailure(outcome.reason, link)) return outcome;
        const [again] = await Promise.allSettled([this.#deliver(commands[at] as RedisCommand, deadline)]);
        return again;
      }),
    );
  }

  /** What a failure says of the cluster. A redirection when the command was not executed and may be sent again. */
  #afterFailure(error: unknown, link: Link): Redirection | undefined {
    if (this.#nodes.isStopped) return undefined;
    // The link was retired between the choice and the sending.
    if (FOUNDATION_ERRORS.is(error, 'SERVICE_STOPPED')) return { kind: 'later' };
    const isLost = ERRORS.is(error, 'REDIS_TIMEOUT') || verdictOf(error).kind === 'connection';
    const redirection = isLost ? undefined : readRedirection((error as Error).message);
    if (redirection?.kind === 'moved') {
      this.#nodes.moved(redirection.slot, this.#nodes.addressSaidBy(link, redirection));
    } else if (isLost || redirection?.kind === 'later') this.doubt();
    return redirection;
  }
}

async function sendTo(
  link: Link,
  [name, args]: RedisCommand,
  timeoutMs: number,
  isAsked: boolean,
): Promise<unknown> {
  if (!isAsked) return link.send(name, args, timeoutMs);
  // It counts for the next command only, so both go in one write.
  const outcomes = await link.sendAll(
    [
      ['ASKING', []],
      [name, args],
    ],
    timeoutMs,
  );
  const outcome = outcomes[1] as PromiseSettledResult<unknown>;
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

function slotOf([name, args]: RedisCommand): number | undefined {
  // Every script goes this way, and may have thousands of arguments that nobody has to look at.
  const isScript = name === 'EVALSHA' || name === 'EVAL';
  if (isScript) return Number(args[1]) > 0 ? slotOfKey(args[2] as RedisArgument) : undefined;
  return slotIn(name, [...args]);
}

const slotOfKey = (key: RedisArgument): number => slotIn('GET', [key]) as number;

const slotIn = (name: string, args: RedisArgument[]): number | undefined =>
  (new Command(name, args).getSlot() as number | null) ?? undefined;
