import { RedisConnection } from '@millrace/redis';
import { redisSandbox } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { RedisQueue } from '../../src/redis/queue.js';
import { queueContract } from '../queue-contract-suite.js';

leakCheck();

queueContract('runtime RT-2: RedisQueue', async () => {
  const { url, namespace: keyPrefix, ...sandbox } = await redisSandbox();
  const connection = new RedisConnection({ url });
  let count = 0;
  return {
    create: async (config) => new RedisQueue({ ...config, name: `queue ${++count}`, keyPrefix, connection }),
    async dispose() {
      await connection.stop();
      await sandbox[Symbol.asyncDispose]();
    },
  };
});
