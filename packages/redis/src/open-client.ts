import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ResolvedRedisConnectionOptions } from './options.js';

/** ioredis chooses the shape of replies by the type of this option; ours are always the plain ones. */
type Settings = RedisOptions & { replyMapping?: 'legacy' };

const CLUSTER_SETTINGS = { lazyConnect: true, enableOfflineQueue: false, clusterRetryStrategy: () => null };

/** An ioredis client, of one server or of a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * A new ioredis client that does nothing behind our back. Reconnecting, queueing and resending are ours (see
 * link.ts): a command of ioredis' offline queue may run long after its caller has given up, and a client told to
 * disconnect while it reconnects parks for ever.
 */
export function openClient(options: ResolvedRedisConnectionOptions, role: string): RedisClient {
  const { url, nodes, client, connectionName, connectTimeoutMs } = options;
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
  if (nodes) {
    const redisOptions: Settings = { ...defined({ username, password }), ...settings };
    return new Cluster([...nodes], { ...CLUSTER_SETTINGS, redisOptions });
  }
  if (client?.isCluster) {
    const given = client as Cluster;
    const redisOptions = { ...(given.options.redisOptions as Settings), ...settings };
    return given.duplicate([], { ...CLUSTER_SETTINGS, redisOptions }) as Cluster;
  }
  if (client) return (client as Redis).duplicate(settings) as Redis;
  const address: Settings = { ...defined({ host, port, username, password, db }), ...settings };
  return url === undefined ? new Redis(address) : new Redis(url, address);
}

/** Ends a client at once: `disconnect` alone waits for the other side to close, which a frozen Redis never does. */
export function destroyClient(client: RedisClient): void {
  const connections = client.isCluster ? (client as Cluster).nodes('all') : [client as Redis];
  client.disconnect();
  for (const { stream } of connections) stream?.destroy();
}

/** Without the keys that are undefined: ioredis would take those for a choice. */
function defined<T extends object>(given: T): { [P in keyof T]?: Exclude<T[P], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}
