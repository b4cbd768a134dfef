import { inspect } from 'node:util';
import { withRedis } from './clients.js';
import { freePort } from './machine.js';
import { type RedisServer, startRedis } from './redis-server.js';
import { until } from './until.js';

interface RedisClusterOptions {
  /** Number of replicas, assigned to the three masters in turn (3). */
  readonly replicas?: number | undefined;
  /** Arguments at the end of the command line of every node, which override ours. */
  readonly args?: readonly string[] | undefined;
}

/** One line of CLUSTER NODES. */
interface NodeLine {
  readonly id: string;
  readonly port: number;
  readonly flags: readonly string[];
  /** The id of its master; `-` for a master. */
  readonly masterId: string;
  readonly isLinked: boolean;
  readonly slots: readonly (readonly [from: number, to: number])[];
}

const SLOTS = 16_384;
/** Fewer cannot elect. */
const MASTERS = 3;
const NODE_TIMEOUT_MS = 1_000;
const CALL_TIMEOUT_MS = 1_000;
const MASTER_DEADLINE_MS = 5_000;
const CHANGE_DEADLINE_MS = 15_000;
const FAILOVER_RETRY_MS = 2 * NODE_TIMEOUT_MS;
/** Long enough for a busy machine. */
const FORM_DEADLINE_MS = 40_000;
const LOOK_EVERY_MS = 50;

/**
 * Starts a Redis Cluster for this process and waits until all slots are served and all replicas are in sync.
 * @throws Error if a node does not start or the cluster does not form; nothing of it is left.
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { replicas = 3, args = [] } = options;
  const starts = await Promise.allSettled(Array.from({ length: MASTERS + replicas }, () => startNode(args)));
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const cluster = new RedisCluster(nodes);
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    await form(nodes);
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
    // The default, port + 10000, may be taken or beyond 65535.
    'cluster-port': String(await freePort()),
    'cluster-announce-ip': '127.0.0.1',
    'cluster-node-timeout': String(NODE_TIMEOUT_MS),
    // A replica that migrates to another master would take the next failover from the test.
    'cluster-allow-replica-migration': 'no',
    // The default of five seconds lets more replicas join one copy.
    'repl-diskless-sync-delay': '0',
    // Otherwise a replica restores an old copy when it restarts.
    'rdb-del-sync-files': 'yes',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return startRedis({ args: [...flags, ...args] });
}

async function form(nodes: readonly RedisServer[]): Promise<void> {
  const busPorts = await Promise.all(
    nodes.map(async (node) => String(((await call(node, 'CONFIG', 'GET', 'cluster-port')) as string[])[1])),
  );
  await Promise.all(
    nodes.map(async (node, at) => {
      // Nodes with the same epoch would first have to resolve the conflict.
      await call(node, 'CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1));
      // Each node meets all nodes before it: gossip alone needs several rounds.
      for (const [other, { host, port }] of nodes.entries()) {
        if (other < at) await call(node, 'CLUSTER', 'MEET', host, String(port), String(busPorts[other]));
      }
      if (at >= MASTERS) return;
      const [from, to] = [at, at + 1].map((n) => Math.ceil((n * SLOTS) / MASTERS)) as [number, number];
      await call(node, 'CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1));
    }),
  );
  const ids = await Promise.all(nodes.map((node) => call(node, 'CLUSTER', 'MYID')));
  await Promise.all(
    nodes.slice(MASTERS).map((node, at) =>
      // Refused until the replica has met its master.
      settled(
        () => call(node, 'CLUSTER', 'REPLICATE', String(ids[at % MASTERS])),
        'a replica to know its master',
        FORM_DEADLINE_MS,
      ),
    ),
  );
}

/** A private Redis Cluster. */
export class RedisCluster implements AsyncDisposable {
  /** All nodes. The first three began as masters. */
  readonly nodes: readonly RedisServer[];
  #stopping: Promise<void> | undefined;

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  /**
   * The node that serves a key (text) or a slot (number), according to most nodes that answer.
   * @throws Error if no node answers, or none has served the slot for five seconds.
   */
  async masterOf(keyOrSlot: string | number): Promise<RedisServer> {
    const slot = await this.#slotOf(keyOrSlot);
    // Briefly none, until the nodes know the new master.
    return settled(
      async () => mostNamed((await this.#views()).map((view) => this.#nodeOf(ownerOf(slot, view)))),
      `a master for slot ${slot}`,
      MASTER_DEADLINE_MS,
    );
  }

  /**
   * Swaps the master of a key or slot with one of its replicas by CLUSTER FAILOVER, like planned maintenance: no accepted
   * write is lost. Takes seconds instead of 0.1 s if this master was replaced within the last two. Returns the new
   * master when every node that answers knows it.
   * @throws Error if the master has no replica, or nothing has changed within fifteen seconds.
   */
  async failover(keyOrSlot: string | number): Promise<RedisServer> {
    const slot = await this.#slotOf(keyOrSlot);
    // Briefly none, until the master knows its replica, or knows that it has recovered.
    const replica = await settled(() => this.#replicaOf(slot), `a replica for slot ${slot}`);
    let nextTryAt = 0;
    const areAgreed = async () => {
      if (performance.now() >= nextTryAt) {
        // Repeated, because nodes do not vote again for the shard of a master that was just replaced.
        nextTryAt = performance.now() + FAILOVER_RETRY_MS;
        await call(replica, 'CLUSTER', 'FAILOVER');
      }
      return (await this.#views()).every((lines) => ownerOf(slot, lines)?.port === replica.port);
    };
    await settled(areAgreed, `${replica.url} to be a master`);
    return replica;
  }

  async #replicaOf(slot: number): Promise<RedisServer | undefined> {
    const view = await viewOf(await this.masterOf(slot));
    const owner = ownerOf(slot, view);
    return this.#nodeOf(
      view.find(({ masterId, flags }) => masterId === owner?.id && !flags.includes('fail')),
    );
  }

  /** Waits until all nodes are up, every slot is served and every replica is in sync. */
  async healthy(): Promise<void> {
    const areHealthy = async () => {
      const replicas = await Promise.all(this.nodes.map((node) => replicasKnownTo(node, this.nodes.length)));
      // All nodes agree: a change of roles spreads by gossip.
      return replicas.every((count) => count === replicas[0]);
    };
    await settled(areHealthy, 'the Redis Cluster to be complete and in sync', FORM_DEADLINE_MS);
  }

  /** Ends all nodes. Calls share one promise. */
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

  /** The cluster according to each node that answers. */
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
  // CLUSTER SLOTS omits a replica that has not copied a write yet.
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
        // Slots in brackets are being moved.
        slots: slots
          .filter((range) => !range.startsWith('['))
          .map((range) => range.split('-').map(Number))
          .map(([from = 0, to = from]) => [from, to] as const),
      };
    });
}

/** The number of replicas that a node knows. Throws unless it sees all nodes working and is in sync. */
async function replicasKnownTo(node: RedisServer, size: number): Promise<number> {
  // One after the other, because each call is a connection and all nodes are asked at once.
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

/** A connection per call: a node may be restarted or frozen between two calls. */
const call = (node: RedisServer, command: string, ...args: string[]): Promise<unknown> =>
  withRedis(node.url, (redis) => redis.call(command, args), CALL_TIMEOUT_MS);

const settled = <T>(condition: () => Promise<T>, what: string, deadlineMs = CHANGE_DEADLINE_MS) =>
  until(condition, { what, deadlineMs, intervalMs: LOOK_EVERY_MS });
