import { setTimeout as delay } from 'node:timers/promises';
import { collectGarbage, quantile, type Side, type SideOptions } from '../measure.js';
import type { Contender } from './contender.js';
import type { Load } from './jobs.js';
import { flushRedis, usedMemory } from './redis.js';

/** Nobody pays for what another one left behind. */
const emptied = (contender: Contender): Promise<void> => contender.flush?.() ?? flushRedis();

/** Hands a load in; nanoseconds per job. */
export const submitting = (contender: Contender, load: Load, options: SideOptions = {}): Side => ({
  name: contender.name,
  ...options,
  async sample() {
    await emptied(contender);
    const producer = await contender.openProducer();
    collectGarbage();
    const startedAt = process.hrtime.bigint();
    await producer.submit(load);
    const elapsed = Number(process.hrtime.bigint() - startedAt);
    await producer.close();
    return elapsed / load.jobs;
  },
});

/**
 * Runs jobs that were handed in before, with one worker process; nanoseconds per job, from the first start to the last.
 * More are waiting than are timed, so that no group runs dry and every start is a choice among all of them.
 */
export const processing = (
  contender: Contender,
  { waiting, jobs, concurrency }: { waiting: Load; jobs: number; concurrency: number },
  options: SideOptions = {},
): Side => ({
  name: contender.name,
  ...options,
  async sample() {
    await emptied(contender);
    const producer = await contender.openProducer();
    await producer.submit(waiting);
    await producer.close();
    let started = 0;
    let firstAt = 0n;
    let finish = (_nanoseconds: number) => {};
    const finished = new Promise<number>((resolve) => {
      finish = resolve;
    });
    const onJob = () => {
      started += 1;
      if (started === 1) firstAt = process.hrtime.bigint();
      if (started === jobs) finish(Number(process.hrtime.bigint() - firstAt));
    };
    const consumer = await contender.openConsumer({ concurrency, onJob });
    collectGarbage();
    await consumer.start();
    const elapsed = await finished;
    await consumer.close();
    return elapsed / (jobs - 1);
  },
});

const PAUSE_MS = 3;

/** One job at a time to workers that wait; the median of microseconds from handing it in to the start of its handler. */
export const starting = (
  contender: Contender,
  { jobs, concurrency }: { jobs: number; concurrency: number },
  options: SideOptions = {},
): Side => ({
  name: contender.name,
  ...options,
  async sample() {
    await emptied(contender);
    let onStart = () => {};
    const producer = await contender.openProducer();
    const consumer = await contender.openConsumer({ concurrency, onJob: () => onStart() });
    await consumer.start();
    const waits: number[] = [];
    for (let index = 0; index < jobs; index++) {
      // The worker before has settled its job and waits again.
      await delay(PAUSE_MS);
      const started = new Promise<bigint>((resolve) => {
        onStart = () => resolve(process.hrtime.bigint());
      });
      const submittedAt = process.hrtime.bigint();
      const submitted = producer.submitOne(index);
      waits.push(Number((await started) - submittedAt) / 1000);
      await submitted;
    }
    await consumer.close();
    await producer.close();
    return quantile(waits, 0.5);
  },
});

/** What a load leaves in Redis while it waits; bytes per job. */
export const weighing = (contender: Contender, load: Load, options: SideOptions = {}): Side => ({
  name: contender.name,
  ...options,
  async sample() {
    await emptied(contender);
    const before = await usedMemory();
    const producer = await contender.openProducer();
    await producer.submit(load);
    // Its connection has buffers of its own, which are not the jobs'.
    await producer.close();
    return ((await usedMemory()) - before) / load.jobs;
  },
});
