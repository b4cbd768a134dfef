import type { RedisCluster, RedisServer } from '@millrace/testkit';
import { type KeySpace, keySpace, loadScripts, RedisConnection } from '../src/index.js';
import { FIXTURE_SCRIPTS } from './fixture-scripts.js';

const { count } = loadScripts(FIXTURE_SCRIPTS);

export const failure = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);

/** One key space per master, in the order of the nodes. */
export async function spaceOfEach(cluster: RedisCluster, masters: number): Promise<KeySpace[]> {
  const spaces: KeySpace[] = [];
  for (let n = 0; Object.keys(spaces).length < masters; n++) {
    const space = keySpace('cluster', `${n}`);
    const at = cluster.nodes.indexOf(await cluster.masterOf(space.tag));
    spaces[at] ??= space;
  }
  return spaces;
}

/** Counts one operation once under a key space, whoever says it how often. */
export const countCall = (space: KeySpace, operation: string) =>
  count.call({
    keys: { counter: space('counter'), seen: space('seen') },
    args: { operation, steps: [1] },
  });

/** Asks one node alone, past the cluster. */
export async function ask(
  node: RedisServer,
  command: string,
  args: (string | number)[] = [],
): Promise<unknown> {
  await using direct = new RedisConnection({ url: node.url });
  return await direct.call(command, args);
}

/** The node where the connection of this name listens to channels. */
export async function listeningAt(cluster: RedisCluster, name: string): Promise<RedisServer | undefined> {
  for (const node of cluster.nodes) {
    const clients = String(await ask(node, 'CLIENT', ['LIST', 'TYPE', 'pubsub']));
    if (clients.includes(`name=${name}:channels`)) return node;
  }
  return undefined;
}
