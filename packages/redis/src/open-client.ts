import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** ioredis chooses the shape of replies by the type of this option; ours are always the plain ones. */
type Settings = RedisOptions & { replyMapping?: 'legacy' };

/** One node of a Redis Cluster. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** A node as the caller named it, with what was in its URL. */
type SeedNode = NodeAddress & Pick<RedisOptions, 'username' | 'password' | 'tls'>;

/**
 * A new ioredis client that does nothing behind our back. Reconnecting, queueing and resending are ours (see
 * link.ts): a command of ioredis' offline queue may run long after its caller has given up, and a client told to
 * disconnect while it reconnects parks for ever. For the same reason a cluster is served by one such client per node
 * (see cluster-nodes.ts): ioredis' own Cluster repeats commands after their deadline and never leaves a silent node.
 * @param node - which node, when the options name a cluster.
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
    // LOADING is an answer like any other "not now"; asking INFO first would add a round trip to every reconnect.
    enableReadyCheck: false,
    disableClientInfo: true,
    enableAutoPipelining: false,
    connectTimeout: connectTimeoutMs,
    // A socket that is gone already never clears the timer that ioredis sets here, which would outlive us by 2 s.
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

/** Ends a client at once: `disconnect` alone waits for the other side to close, which a frozen Redis never does. */
export function destroyClient(client: Redis): void {
  const { stream } = client;
  client.disconnect();
  stream?.destroy();
}

/** Whether the options name a Redis Cluster rather than one server. */
export function isClusterAddress({ nodes, client }: ResolvedRedisConnectionOptions): boolean {
  return nodes !== undefined || client?.isCluster === true;
}

/** The nodes that the options name: where to ask for the others. */
export function seedNodes({ nodes, client }: ResolvedRedisConnectionOptions): SeedNode[] {
  // Private in ioredis' types only; there is no other way to learn which nodes a given Cluster was made with.
  const { startupNodes = [] } = (client ?? {}) as { startupNodes?: readonly (string | RedisOptions)[] };
  return (nodes ?? startupNodes).map((node) => {
    // ioredis reads its own forms: a URL, a port, an object. The client is never connected.
    const read = new Redis(node as string, { lazyConnect: true }).options;
    const { host = '127.0.0.1', port = 6379, username, password, tls } = read;
    return {
      host,
      port,
      ...defined({ username: username ?? undefined, password: password ?? undefined, tls }),
    };
  });
}

/** Translates the address a node has for itself to the one that it has for us, if the given Cluster says how. */
export function natAddress({ client }: ResolvedRedisConnectionOptions, node: NodeAddress): NodeAddress {
  const natMap = client?.isCluster ? (client as Cluster).options.natMap : undefined;
  const name = `${node.host}:${node.port}`;
  return (typeof natMap === 'function' ? natMap(name) : natMap?.[name]) ?? node;
}

/** Without the keys that are undefined: ioredis would take those for a choice. */
function defined<T extends object>(given: T): { [P in keyof T]?: Exclude<T[P], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}
