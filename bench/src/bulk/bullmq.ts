import { type ConnectionOptions, Queue, Worker } from 'bullmq';
import type { Contender } from './contender.js';
import { inBatches, jobId, payloadOf, sequence } from './jobs.js';
import { redisAddress } from './redis.js';

const QUEUE = 'bench';
// Both measured here, 20,000 jobs: batches of 1,000 with four under way 24,000 to 36,000/s, of 50 one by one 19,000/s.
const BATCH = 1000;
const UNDER_WAY = 4;

// RESP2: BullMQ reads replies as ioredis 5 gave them. Auto-pipelining stays off: it halved the worker's throughput.
const connection = async (): Promise<ConnectionOptions> =>
  ({ ...(await redisAddress()), protocol: 2 }) as ConnectionOptions;

const jobOf = (index: number) => ({
  name: 'noop',
  data: payloadOf(index),
  opts: { jobId: jobId(index), removeOnComplete: true },
});

/** BullMQ: one queue, since it has no groups. */
export const bullmq: Contender = {
  name: 'BullMQ',

  async openProducer() {
    const queue = new Queue(QUEUE, { connection: await connection() });
    await queue.waitUntilReady();
    return {
      submit: ({ jobs }) =>
        inBatches({ total: jobs, size: BATCH, underWay: UNDER_WAY }, (from, count) =>
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
      removeOnComplete: { count: 0 },
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
