import { type RedisCluster, type RedisServer, startRedisCluster, until } from '@millrace/testkit';
import { afterAll, beforeAll } from 'vitest';
import { type KeySpace, keySpace, RedisConnection, type RedisConnectionOptions } from '../src/index.js';

const MASTERS = 3;

/** Starts a cluster for the tests of a file. */
export function useCluster(options?: Parameters<typeof startRedisCluster>[0]) {
  let cluster: RedisCluster;
  const spaces: KeySpace[] = [];
  beforeAll(async () => {
    cluster = await startRedisCluster(options);
    for (let n = 0; Object.keys(spaces).length < MASTERS; n++) {
      const space = keySpace('cluster', `${n}`);
      spaces[cluster.nodes.indexOf(await cluster.masterOf(space.tag))] ??= space;
    }
  }, 30_000);
  afterAll(() => cluster.stop());
  return {
    get cluster() {
      return cluster;
    },
    connect: (given: RedisConnectionOptions = {}) =>
      new RedisConnection({ nodes: cluster.nodes.map(({ host, port }) => ({ host, port })), ...given }),
    node: (at: number) => cluster.nodes[at] as RedisServer,
    /** A key space whose keys this node had at the start. */
    space: (at: number) => spaces[at] as KeySpace,
  };
}

/** Sends a command to one node, without the cluster. */
export async function ask(
  node: RedisServer,
  command: string,
  args: (string | number)[] = [],
): Promise<unknown> {
  await using direct = new RedisConnection({ url: node.url });
  return await direct.call(command, args);
}

/** Listens to `news`. Returns a function that publishes until the message arrives. */
export function listen(connection: RedisConnection) {
  const heard = new Set<string>();
  connection.channels.subscribe('news', (message) => heard.add(message));
  return (message: string, publish: (...command: ['PUBLISH', string[]]) => Promise<unknown>) => {
    const arrives = async () => {
      await publish('PUBLISH', ['news', message]);
      return heard.has(message);
    };
    return until(arrives, { what: `news ${message}` });
  };
}
