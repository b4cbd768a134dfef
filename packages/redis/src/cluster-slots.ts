import { Command } from 'ioredis';
import type { RedisArgument } from './connection.js';

/** The slots of a Redis Cluster by their masters, as one node reported them. */
export interface SlotOwners {
  /** The master's address (`host:port`) by slot. A slot without a master is undefined. */
  readonly bySlot: (string | undefined)[];
  readonly addresses: ReadonlySet<string>;
}

/** The reply of a node that did not execute a command, which may therefore be sent again. */
export type Redirection =
  | { readonly kind: 'moved' | 'ask'; readonly slot: number; readonly host: string; readonly port: number }
  | { readonly kind: 'later' };

const SLOTS = 16_384;

/** Sent before anything of the command is executed, and only until the cluster has settled. */
const LATER = /^(TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY)(\s|$)/;

/**
 * Reads the reply of CLUSTER SLOTS. No addresses at all mean that the node knows no slot.
 * @param toAddress - makes the address of a node. Its slots have no master if that is undefined.
 */
export function readSlotOwners(
  reply: unknown,
  toAddress: (host: string, port: number) => string | undefined,
): SlotOwners {
  const bySlot: (string | undefined)[] = new Array(SLOTS).fill(undefined);
  const addresses = new Set<string>();
  for (const [from, to, master] of reply as [number, number, [string | null, number]][]) {
    const address = toAddress(master[0] ?? '', master[1]);
    if (address === undefined) continue;
    addresses.add(address);
    bySlot.fill(address, from, to + 1);
  }
  return { bySlot, addresses };
}

/** Reads an error reply. Returns undefined if it is no redirection. */
export function readRedirection(message: string): Redirection | undefined {
  const [, word, slot, host = '', port] = /^(MOVED|ASK) (\d+) (\S*):(\d+)/.exec(message) ?? [];
  if (word === undefined) return LATER.test(message) ? { kind: 'later' } : undefined;
  // A number out of range would add an entry to the slot table.
  if (Number(slot) >= SLOTS) return undefined;
  return { kind: word === 'MOVED' ? 'moved' : 'ask', slot: Number(slot), host, port: Number(port) };
}

/** Returns the slot of a command's first key, or undefined without a key. */
export function slotOfCommand(name: string, args: readonly RedisArgument[]): number | undefined {
  // A shortcut for the most frequent commands: ioredis would read all arguments, which may be thousands.
  const isScript = name === 'EVALSHA' || name === 'EVAL';
  if (isScript) return Number(args[1]) > 0 ? slotOfKey(args[2] as RedisArgument) : undefined;
  return firstSlot(name, [...args]);
}

/** Returns the slot of a key. */
export const slotOfKey = (key: RedisArgument): number => firstSlot('GET', [key]) as number;

const firstSlot = (name: string, args: RedisArgument[]): number | undefined =>
  (new Command(name, args).getSlot() as number | null) ?? undefined;
