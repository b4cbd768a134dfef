import BeeQueue from 'bee-queue';
import type { Contender } from './contender.js';
import { inBatches, jobId, payloadOf, sequence } from './jobs.js';
import { redisAddress } from './redis.js';

const QUEUE = 'bench';
// Measured here, 20,000 jobs: batches of 1,000 with four under way 81,000 to 148,000/s, of 50 one by one 81,000 to 90,000/s.
const BATCH = 1000;
const UNDER_WAY = 4;

async function openQueue(isWorker: boolean): Promise<BeeQueue> {
  const queue = new BeeQueue(QUEUE, {
    redis: await redisAddress(),
    isWorker,
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    removeOnSuccess: true,
  });
  queue.on('error', (error) => console.error(`bee-queue: ${error.message}`));
  return queue.ready();
}

/** bee-queue: one queue, since it has no groups. */
export const beeQueue: Contender = {
  name: 'bee-queue',

  async openProducer() {
    const queue = await openQueue(false);
    const jobOf = (index: number) => queue.createJob(payloadOf(index)).setId(jobId(index));
    return {
      submit: ({ jobs }) =>
        inBatches({ total: jobs, size: BATCH, underWay: UNDER_WAY }, (from, count) =>
          queue.saveAll(sequence(from, count, jobOf)),
        ),
      submitOne: (index) => jobOf(index).save(),
      close: () => queue.close(),
    };
  },

  async openConsumer({ concurrency, onJob }) {
    const queue = await openQueue(true);
    return {
      async start() {
        queue.process(concurrency, async () => onJob());
      },
      close: () => queue.close(),
    };
  },
};
