import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { type RedisServer, startRedis } from './redis-server.js';
import { until } from './until.js';

/** How large a private Redis Cluster is. */
export interface RedisClusterOptions {
  /** Nodes that share the slots equally; three unless given, fewer elect nobody. */
  readonly masters?: number | undefined;
  /** Nodes that copy a master, dealt out in turn; three unless given. */
  readonly replicas?: number | undefined;
  /** Appended to the command line of every node, so they win. */
  readonly args?: readonly string[] | undefined;
}

/** A private Redis Cluster; each node has the life cycle of a private server, `pause` and `resume` included. */
export interface RedisCluster extends AsyncDisposable {
  /** All nodes; the first `masters` of them began as masters. */
  readonly nodes: readonly RedisServer[];
  readonly urls: readonly string[];
  /**
   * The node that serves a key (text) or a slot (number), as most nodes that answer see it.
   * @throws Error when no node answers, or none has served the slot for five seconds.
   */
  masterOf(keyOrSlot: string | number): Promise<RedisServer>;
  /**
   * Changes the roles of the key's (or slot's) master and one of its replicas as planned maintenance does, by the
   * replica's CLUSTER FAILOVER: no write that was accepted is lost. Some seconds instead of a tenth when this very master
   * has lost its place within the last two.
   * @returns the new master, once every node that answers knows it.
   * @throws Error when the master has no replica, or nothing has changed within fifteen seconds.
   */
  failover(keyOrSlot: string | number): Promise<RedisServer>;
  /** Ends a node with SIGKILL. The others elect a replica of it after about two seconds. */
  kill(node: RedisServer): Promise<void>;
  /** Starts a node again on its port; nothing but its place in the cluster was kept. */
  restart(node: RedisServer): Promise<void>;
  /** Waits until all nodes are up, every slot is served and every replica is in sync. */
  healthy(): Promise<void>;
  /** Ends all nodes; calls share one promise. */
  stop(): Promise<void>;
}

/** One line of CLUSTER NODES. */
interface NodeLine {
  readonly id: string;
  readonly port: number;
  readonly flags: readonly string[];
  /** Of whom it is a replica; `-` for a master. */
  readonly masterId: string;
  readonly isLinked: boolean;
  readonly slots: readonly (readonly [from: number, to: number])[];
}

const SLOTS = 16_384;
const NODE_TIMEOUT_MS = 1_000;
const CALL_TIMEOUT_MS = 1_000;
const CHANGE_DEADLINE_MS = 15_000;
const FAILOVER_RETRY_MS = 2 * NODE_TIMEOUT_MS;
/** Of a machine that does much else besides; nothing waits for its end unless something is wrong. */
const FORM_DEADLINE_MS = 40_000;
const LOOK_EVERY_MS = 50;

/**
 * Starts a Redis Cluster for this process alone, formed by hand: no redis-cli, no questions asked.
 * @returns the cluster, all slots served and all replicas in sync.
 * @throws Error when a node does not start or the cluster does not form; nothing of it is left.
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 3, args = [] } = options;
  const starts = await Promise.allSettled(Array.from({ length: masters + replicas }, () => startNode(args)));
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const cluster = new FormedCluster(nodes);
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    await form(nodes, masters);
    await cluster.healthy();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function startNode(args: readonly string[]): Promise<RedisServer> {
  const settings = {
    'cluster-enabled': 'yes',
    // Port + 10000 unless given, which may be beyond 65535 or somebody else's.
    'cluster-port': String(await freePort()),
    'cluster-announce-ip': '127.0.0.1',
    'cluster-node-timeout': String(NODE_TIMEOUT_MS),
    // A replica that moves to another master by itself would take the next failover from the test.
    'cluster-allow-replica-migration': 'no',
    // Five seconds by default, to let more replicas join one copy.
    'repl-diskless-sync-delay': '0',
    // Otherwise what a replica once copied would be there again after its restart.
    'rdb-del-sync-files': 'yes',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return startRedis({ args: [...flags, ...args] });
}

async function form(nodes: readonly RedisServer[], masters: number): Promise<void> {
  const busPorts = await Promise.all(
    nodes.map(async (node) => String(((await call(node, 'CONFIG', 'GET', 'cluster-port')) as string[])[1])),
  );
  await Promise.all(
    nodes.map(async (node, at) => {
      // Different from the start: nodes with one epoch would first have to settle who gives way.
      await call(node, 'CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1));
      // Everybody to everybody before them: gossip alone needs several rounds.
      for (const [other, { host, port }] of nodes.entries()) {
        if (other < at) await call(node, 'CLUSTER', 'MEET', host, String(port), String(busPorts[other]));
      }
      if (at >= masters) return;
      const [from, to] = [at, at + 1].map((n) => Math.ceil((n * SLOTS) / masters)) as [number, number];
      await call(node, 'CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1));
    }),
  );
  const ids = await Promise.all(nodes.map((node) => call(node, 'CLUSTER', 'MYID')));
  await Promise.all(
    nodes.slice(masters).map((node, at) =>
      // Refused until the replica has met its master.
      until(() => call(node, 'CLUSTER', 'REPLICATE', String(ids[at % masters])), {
        what: 'a replica to know its master',
        deadlineMs: FORM_DEADLINE_MS,
        intervalMs: LOOK_EVERY_MS,
      }),
    ),
  );
}

class FormedCluster implements RedisCluster {
  readonly nodes: readonly RedisServer[];
  #stopping: Promise<void> | undefined;

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  get urls(): readonly string[] {
    return this.nodes.map(({ url }) => url);
  }

  async masterOf(keyOrSlot: string | number): Promise<RedisServer> {
    const slot = await this.#slotOf(keyOrSlot);
    // None for a moment, while the news of another master travels.
    return until(
      async () => mostNamed((await this.#views()).map((view) => this.#nodeOf(ownerOf(slot, view)))),
      {
        what: `a master for slot ${slot}`,
        intervalMs: LOOK_EVERY_MS,
      },
    );
  }

  async failover(keyOrSlot: string | number): Promise<RedisServer> {
    const slot = await this.#slotOf(keyOrSlot);
    // None for a moment, while its master has not heard yet whose replica it is, or that it is well again.
    const replica = await until(() => this.#replicaOf(slot), {
      what: `a replica for slot ${slot}`,
      deadlineMs: CHANGE_DEADLINE_MS,
      intervalMs: LOOK_EVERY_MS,
    });
    let nextTryAt = 0;
    const areAgreed = async () => {
      if (performance.now() >= nextTryAt) {
        // Again: nobody votes for a replica of a master that was voted out a moment ago and is back.
        nextTryAt = performance.now() + FAILOVER_RETRY_MS;
        await call(replica, 'CLUSTER', 'FAILOVER');
      }
      return (await this.#views()).every((lines) => ownerOf(slot, lines)?.port === replica.port);
    };
    await until(areAgreed, {
      what: `${replica.url} to be a master`,
      deadlineMs: CHANGE_DEADLINE_MS,
      intervalMs: LOOK_EVERY_MS,
    });
    return replica;
  }

  async #replicaOf(slot: number): Promise<RedisServer | undefined> {
    const view = await viewOf(await this.masterOf(slot));
    const owner = ownerOf(slot, view);
    return this.#nodeOf(
      view.find(({ masterId, flags }) => masterId === owner?.id && !flags.includes('fail')),
    );
  }

  kill(node: RedisServer): Promise<void> {
    return node.kill();
  }

  restart(node: RedisServer): Promise<void> {
    return node.restart();
  }

  async healthy(): Promise<void> {
    const areHealthy = async () => {
      const replicas = await Promise.all(this.nodes.map((node) => replicasKnownTo(node, this.nodes.length)));
      // As many as everybody else says: a role travels by gossip.
      return replicas.every((count) => count === replicas[0]);
    };
    try {
      await until(areHealthy, {
        what: 'the Redis Cluster to be complete and in sync',
        deadlineMs: FORM_DEADLINE_MS,
        intervalMs: LOOK_EVERY_MS,
      });
    } catch (error) {
      const ended = this.nodes.flatMap(({ url, ending }) =>
        ending === undefined ? [] : [`${url}: ${ending}`],
      );
      throw new Error([String(error), ...ended].join('\n'), { cause: error });
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= Promise.all(this.nodes.map((node) => node.stop())).then(() => {});
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #slotOf(keyOrSlot: string | number): Promise<number> {
    if (typeof keyOrSlot === 'number') return keyOrSlot;
    return Number(await Promise.any(this.nodes.map((node) => call(node, 'CLUSTER', 'KEYSLOT', keyOrSlot))));
  }

  /** How each node that answers sees the cluster. */
  async #views(): Promise<NodeLine[][]> {
    const views = await Promise.allSettled(this.nodes.map(viewOf));
    const answers = views.flatMap((view) => (view.status === 'fulfilled' ? [view.value] : []));
    if (answers.length === 0) throw new Error('expected an answer from some node of the Redis Cluster');
    return answers;
  }

  #nodeOf(line: NodeLine | undefined): RedisServer | undefined {
    return this.nodes.find(({ port }) => port === line?.port);
  }
}

function mostNamed(nodes: readonly (RedisServer | undefined)[]): RedisServer | undefined {
  const named = nodes.filter((node) => node !== undefined);
  const times = (node: RedisServer) => named.filter((other) => other === node).length;
  return named.toSorted((a, b) => times(b) - times(a))[0];
}

const ownerOf = (slot: number, view: readonly NodeLine[]): NodeLine | undefined =>
  view.find(({ slots }) => slots.some(([from, to]) => from <= slot && slot <= to));

async function viewOf(node: RedisServer): Promise<NodeLine[]> {
  // Not CLUSTER SLOTS: it leaves out a replica that has not yet copied a single write.
  const text = String(await call(node, 'CLUSTER', 'NODES'));
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [id = '', address = '', flags = '', masterId = '', , , , link, ...slots] = line.split(' ');
      return {
        id,
        port: Number(/:(\d+)@/.exec(address)?.[1]),
        flags: flags.split(','),
        masterId,
        isLinked: link === 'connected',
        // What moves just now is listed in brackets besides.
        slots: slots
          .filter((range) => !range.startsWith('['))
          .map((range) => range.split('-').map(Number))
          .map(([from = 0, to = from]) => [from, to] as const),
      };
    });
}

/** How many replicas a node knows; throws unless it sees the whole cluster working and is itself in sync. */
async function replicasKnownTo(node: RedisServer, size: number): Promise<number> {
  // One after the other: all nodes are asked at once, and each call is a connection.
  const info = await call(node, 'CLUSTER', 'INFO');
  const lines = await viewOf(node);
  const replication = await call(node, 'INFO', 'replication');
  const isUp = ({ flags, isLinked }: NodeLine) =>
    isLinked && !flags.some((flag) => /handshake|fail|noaddr/.test(flag));
  const isServed = /cluster_state:ok\s/.test(String(info)) && String(info).includes(`assigned:${SLOTS}`);
  const isCopied = /role:master|master_link_status:up/.test(String(replication));
  if (lines.length !== size || !lines.every(isUp) || !isServed || !isCopied) {
    throw new Error(`${node.url} sees ${inspect(lines, { depth: 3 })}\n${info}\n${replication}`);
  }
  return lines.filter(({ flags }) => flags.includes('slave')).length;
}

async function call(node: RedisServer, command: string, ...args: string[]): Promise<unknown> {
  // A connection per call: the node may be another process by the next one, or be frozen.
  const client = new Redis(node.url, {
    lazyConnect: true,
    protocol: 2,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: CALL_TIMEOUT_MS,
    commandTimeout: CALL_TIMEOUT_MS,
    disconnectTimeout: 1,
  });
  client.on('error', () => {}); // Reported by the call that fails.
  try {
    return await client.call(command, args);
  } finally {
    const { stream } = client;
    client.disconnect();
    // A frozen node would not close its side.
    stream?.destroy();
  }
}
