import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** The types of ioredis derive the shape of replies from this option. Ours are always the plain ones. */
type Settings = RedisOptions & { replyMapping?: 'legacy' };

/** One node of a Redis Cluster. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** Formats a node as `host:port`. */
export const addressOf = ({ host, port }: NodeAddress): string => `${host}:${port}`;

/** Parses `host:port`. The host may be an IPv6 address. */
export function nodeAt(address: string): NodeAddress {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** A node from the options, with the credentials and TLS settings of its URL. */
type SeedNode = NodeAddress & Pick<RedisOptions, 'username' | 'password' | 'tls'>;

/**
 * Makes an ioredis client that neither reconnects nor queues nor resends. ServerConnection does that instead: a command in
 * ioredis' offline queue may run long after its caller has given up, and a client that is told to disconnect while it
 * reconnects hangs. A cluster has one such client per node, because ioredis' own Cluster repeats commands after their
 * deadline and never leaves a silent node.
 * @param node - the node to connect to, if the options name a cluster.
 */
export function openClient(options: ResolvedRedisConnectionOptions, role: string, node?: NodeAddress): Redis {
  const { url, client, connectionName, connectTimeoutMs } = options;
  const settings = {
    protocol: 2,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    reconnectOnError: null,
    // Calls handle LOADING like every transient reply. The check by INFO would add a round trip to every reconnect.
    enableReadyCheck: false,
    disableClientInfo: true,
    enableAutoPipelining: false,
    connectTimeout: connectTimeoutMs,
    // A closed socket never clears the timer that ioredis sets, which would keep the process alive for 2 s.
    disconnectTimeout: 1,
    connectionName: `${connectionName}:${role}`,
  } satisfies RedisOptions;
  const { host, port, username, password, db } = options;
  if (node) {
    const shared = client ? (client as Cluster).options.redisOptions : defined({ username, password });
    const address: Settings = { ...(shared as Settings | undefined), ...node, ...settings };
    return new Redis(address);
  }
  if (client) return (client as Redis).duplicate(settings) as Redis;
  const address: Settings = { ...defined({ host, port, username, password, db }), ...settings };
  return url === undefined ? new Redis(address) : new Redis(url, address);
}

/** Closes a client at once. `disconnect` alone waits until the server closes, which a frozen Redis never does. */
export function destroyClient(client: Redis): void {
  const { stream } = client;
  client.disconnect();
  stream?.destroy();
}

/** Reports whether the options name a Redis Cluster rather than one server. */
export function isClusterAddress({ nodes, client }: ResolvedRedisConnectionOptions): boolean {
  return nodes !== undefined || client?.isCluster === true;
}

/** Returns the nodes that the options name. They know the others. */
export function seedNodes({ nodes, client }: ResolvedRedisConnectionOptions): SeedNode[] {
  // Private in ioredis' types, but the only way to learn the nodes that a Cluster was made with.
  const { startupNodes = [] } = (client ?? {}) as { startupNodes?: readonly (string | RedisOptions)[] };
  return (nodes ?? startupNodes).map((node) => {
    // ioredis parses its own forms: a URL, a port, an object. This client never connects.
    const read = new Redis(node as string, { lazyConnect: true }).options;
    const { host = '127.0.0.1', port = 6379, username, password, tls } = read;
    return {
      host,
      port,
      ...defined({ username: username ?? undefined, password: password ?? undefined, tls }),
    };
  });
}

/** Maps a node's own address to the one that this process can reach, by the `natMap` of the given Cluster. */
export function natAddress({ client }: ResolvedRedisConnectionOptions, node: NodeAddress): NodeAddress {
  const natMap = client?.isCluster ? (client as Cluster).options.natMap : undefined;
  const name = addressOf(node);
  return (typeof natMap === 'function' ? natMap(name) : natMap?.[name]) ?? node;
}

/** Leaves out undefined keys, which ioredis would use instead of its defaults. */
function defined<T extends object>(given: T): { [P in keyof T]?: Exclude<T[P], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}
