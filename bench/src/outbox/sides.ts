import { setTimeout as delay } from 'node:timers/promises';
import { collectGarbage, type Side, type SideOptions } from '../measure.js';
import type { Contender } from './contender.js';
import { administer, countEffects, drained, emptyEffects } from './server.js';

/** Tasks that take longer will never end. */
const HANDLED_WITHIN_MS = 180_000;

/** Empty tables, and none of the disk's work left over from the sample before. */
async function emptied(contender: Contender): Promise<void> {
  await contender.empty();
  await emptyEffects();
  await administer('CHECKPOINT');
}

/** Hands tasks in; nanoseconds per task. */
export const inserting = (contender: Contender, tasks: number, options: SideOptions = {}): Side => ({
  name: contender.name,
  ...options,
  async sample() {
    await emptied(contender);
    const producer = await contender.openProducer();
    collectGarbage();
    const startedAt = process.hrtime.bigint();
    await producer.insert(tasks);
    const elapsed = Number(process.hrtime.bigint() - startedAt);
    await producer.close();
    return elapsed / tasks;
  },
});

/** What the worker of a side does. */
interface Work {
  readonly tasks: number;
  readonly concurrency: number;
  readonly effect: boolean;
}

/**
 * Runs tasks that were handed in before; nanoseconds per task, from the start of the worker until the last is done and
 * acknowledged in the database.
 */
export const working = (
  contender: Contender,
  { tasks, concurrency, effect }: Work,
  options: SideOptions = {},
): Side => ({
  name: contender.name,
  ...options,
  async sample() {
    await emptied(contender);
    const producer = await contender.openProducer();
    await producer.insert(tasks);
    await producer.close();
    await administer('ANALYZE');
    let called = 0;
    let finish = () => {};
    const handled = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const onTask = () => {
      called += 1;
      if (called === tasks) finish();
    };
    const worker = await contender.openWorker({ concurrency, effect, onTask });
    collectGarbage();
    const startedAt = process.hrtime.bigint();
    await worker.start();
    await allHandled(handled, () => `${contender.name} has run ${called} of ${tasks} tasks`);
    await drained(contender.anyOpen);
    const elapsed = Number(process.hrtime.bigint() - startedAt);
    await worker.close();
    if (effect) await checkEffects(contender, tasks);
    return elapsed / tasks;
  },
});

async function allHandled(handled: Promise<void>, complaint: () => string): Promise<void> {
  const over = new AbortController();
  const late = delay(HANDLED_WITHIN_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${complaint()} after ${HANDLED_WITHIN_MS / 1000} s`);
  });
  late.catch(() => {}); // Aborted when they were in time.
  try {
    await Promise.race([handled, late]);
  } finally {
    over.abort();
  }
}

/** A side that was quick because it did not do the work has not won. */
async function checkEffects({ name }: Contender, tasks: number): Promise<void> {
  const effects = await countEffects();
  if (effects < tasks) throw new Error(`${name} has left ${effects} effects of ${tasks} tasks`);
}
