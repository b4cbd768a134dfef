import BeeQueue from 'bee-queue';
import { BEE_QUEUE } from '../peers.js';
import type { Contender } from './contender.js';
import { inBatches, jobId, payloadOf, sequence } from './jobs.js';
import { redisAddress } from './redis.js';

const QUEUE = 'bench';

async function openQueue(isWorker: boolean): Promise<BeeQueue> {
  const queue = new BeeQueue(QUEUE, {
    redis: await redisAddress(),
    isWorker,
    ...BEE_QUEUE.queue,
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
        inBatches({ total: jobs, size: BEE_QUEUE.batch, underWay: BEE_QUEUE.underWay }, (from, count) =>
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
