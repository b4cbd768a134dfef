import { type RedisCluster, startRedisCluster } from '@millrace/testkit';
import { Redis } from 'ioredis';

/** The private cluster of this run; started by the first who asks. */
let running: Promise<RedisCluster> | undefined;

const ready = (): Promise<RedisCluster> => {
  running ??= startRedisCluster();
  return running;
};

/** Where its nodes listen. */
export async function clusterNodes(): Promise<{ readonly host: string; readonly port: number }[]> {
  return (await ready()).nodes.map(({ host, port }) => ({ host, port }));
}

/** An empty cluster. */
export async function flushCluster(): Promise<void> {
  const cluster = await ready();
  for (const { url } of cluster.nodes) {
    const admin = new Redis(url, { protocol: 2 });
    try {
      if (String(await admin.call('ROLE')).startsWith('master')) await admin.flushall();
    } finally {
      admin.disconnect();
    }
  }
  await cluster.healthy();
}

/** Ends the cluster if there is one. */
export async function stopCluster(): Promise<void> {
  const current = await running;
  running = undefined;
  await current?.stop();
}
