import { type ConnectionOptions, Queue, Worker } from 'bullmq';
import { BULLMQ } from '../peers.js';
import type { Contender } from './contender.js';
import { inBatches, jobId, payloadOf, sequence } from './jobs.js';
import { redisAddress } from './redis.js';

const QUEUE = 'bench';

const connection = async (): Promise<ConnectionOptions> =>
  ({ ...(await redisAddress()), ...BULLMQ.connection }) as ConnectionOptions;

const jobOf = (index: number) => ({
  name: 'noop',
  data: payloadOf(index),
  opts: { jobId: jobId(index), ...BULLMQ.job },
});

/** BullMQ: one queue, since it has no groups. */
export const bullmq: Contender = {
  name: 'BullMQ',

  async openProducer() {
    const queue = new Queue(QUEUE, { connection: await connection() });
    await queue.waitUntilReady();
    return {
      submit: ({ jobs }) =>
        inBatches({ total: jobs, size: BULLMQ.batch, underWay: BULLMQ.underWay }, (from, count) =>
          queue.addBulk(sequence(from, count, jobOf)),
        ),
      submitOne(index) {
        const { name, data, opts } = jobOf(index);
        return queue.add(name, data, opts);
      },
      close: () => queue.close(),
    };
  },

  async openConsumer({ concurrency, onJob }) {
    const worker = new Worker(QUEUE, async () => onJob(), {
      connection: await connection(),
      concurrency,
      autorun: false,
      ...BULLMQ.worker,
    });
    worker.on('error', (error) => console.error(`BullMQ: ${error.message}`));
    await worker.waitUntilReady();
    let running: Promise<unknown> | undefined;
    return {
      async start() {
        running = worker.run();
      },
      async close() {
        await worker.close();
        await running;
      },
    };
  },
};
