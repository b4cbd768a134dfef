import type { Redis } from 'ioredis';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** What may stand in a Redis command. */
export type RedisArgument = string | number | Buffer;

/** A command and its arguments. */
export type RedisCommand = readonly [name: string, args: readonly RedisArgument[]];

/** Sends commands within deadlines and keeps its connections by itself. */
interface Sender {
  /** Whether a command would go out at once. */
  readonly isReady: boolean;
  /** Counts the clients used so far; tests and metrics see replacements in it. */
  readonly generation: number;
  /** Begins to connect; does nothing when that has begun. */
  open(): void;
  /** Ends everything at once, whatever the other side does; what waits or is under way fails. */
  stop(): void;
  /** Waits until commands can be sent; fails with REDIS_TIMEOUT or SERVICE_STOPPED. */
  ready(timeoutMs: number): Promise<unknown>;
  /** Sends one command and gives its reply; fails with what ioredis threw, REDIS_TIMEOUT or SERVICE_STOPPED. */
  send(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown>;
  /** Sends many commands at once; each has its own outcome. */
  sendAll(commands: readonly RedisCommand[], timeoutMs: number): Promise<PromiseSettledResult<unknown>[]>;
}

/** The sender of one server. */
export interface ServerLink extends Sender {
  /** `host:port` of a node; empty when the options name one server only. */
  readonly address: string;
  /** Another connection to the same server. */
  sibling(role: string, changes?: Partial<ResolvedRedisConnectionOptions>): ServerLink;
  /** A bare client of the same server, for what is no exchange of commands and replies. */
  bareClient(role: string): Redis;
}

/** The sender of one server or of a whole cluster, which knows where each key is. */
export interface Links extends Sender {
  /** Sends one command to every master of a cluster, or to the one server there is; fails with the first failure. */
  sendEverywhere(name: string, args: readonly RedisArgument[], timeoutMs: number): Promise<unknown[]>;
  /** Keys with the same name here may stand in one blocking call. */
  laneOf(key: string): string;
  /** The address of the server that holds a key, as far as is known now. */
  addressOf(key: string): string | undefined;
  /** The server that holds a key, any server without one; in a cluster once it can be reached. */
  homeOf(key: string | undefined, timeoutMs: number): Promise<ServerLink>;
  /** Tells that a server failed somebody with a connection of their own: it may have lost its place. */
  doubt(): void;
  /** Calls back whenever keys may have come to another server. */
  onMove(listener: () => void): void;
}
