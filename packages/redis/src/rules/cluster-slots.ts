/** Who serves which slots, as one node of a Redis Cluster said it. */
export interface SlotOwners {
  /** The master's address (`host:port`) by slot; nobody's slots are missing. */
  readonly bySlot: readonly (string | undefined)[];
  readonly addresses: ReadonlySet<string>;
}

/** What a node said instead of executing a command; whoever is told this may send the command again. */
export type Redirection =
  | { readonly kind: 'moved' | 'ask'; readonly slot: number; readonly host: string; readonly port: number }
  | { readonly kind: 'later' };

const SLOTS = 16_384;

/** Said before anything of the command is executed, and gone as soon as the cluster has sorted itself out. */
const LATER = /^(TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY)(\s|$)/;

/**
 * Reads the reply of CLUSTER SLOTS.
 * @param toAddress - makes the address of a node from what the reply says of it; `undefined` when it says nothing usable.
 * @returns the owners; no addresses at all when the node knows of no slot.
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

/**
 * Reads an error reply for what a Redis Cluster means by it.
 * @returns where to send the command instead, or that it has to wait; `undefined` when it is another error.
 */
export function readRedirection(message: string): Redirection | undefined {
  const [, word, slot, host, port] = /^(MOVED|ASK) (\d+) (\S*):(\d+)/.exec(message) ?? [];
  if (word !== undefined) {
    const kind = word === 'MOVED' ? 'moved' : 'ask';
    // A slot out of range would become an index of its own.
    return Number(slot) < SLOTS
      ? { kind, slot: Number(slot), host: host ?? '', port: Number(port) }
      : undefined;
  }
  return LATER.test(message) ? { kind: 'later' } : undefined;
}
