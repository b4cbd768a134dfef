import { type DagDefinition, defineDag, task } from '@millrace/outbox';
import type { Gauge } from '../gauges.js';
import type { Side } from '../measure.js';
import { ANY_BATCH_OPEN, emptyOutbox, openOutbox } from './millrace.js';
import { administer, drained } from './server.js';

const CONCURRENCY = 100;
const CHAIN = 10;
const seconds = (since: bigint) => Number(process.hrtime.bigint() - since) / 1e9;

/**
 * A root, chains of ten tasks after it, and a task that waits for all chains.
 * @param tasks - exactly so many; at least 12.
 */
export function wideDag(tasks: number): DagDefinition {
  const noop = (after: readonly string[]) => task({ mode: 'external', after, run: () => {} });
  const chains = Math.floor((tasks - 2) / CHAIN);
  const keyOf = (chain: number, step: number) => `chain-${chain}-${step}`;
  const steps: [string, ReturnType<typeof noop>][] = [];
  // What does not fill a chain makes the last one longer, so that the number of tasks is exact.
  const over = tasks - 2 - chains * CHAIN;
  const ends: string[] = [];
  for (let chain = 0; chain < chains; chain++) {
    const length = chain === chains - 1 ? CHAIN + over : CHAIN;
    for (let step = 0; step < length; step++)
      steps.push([keyOf(chain, step), noop([step === 0 ? 'root' : keyOf(chain, step - 1)])]);
    ends.push(keyOf(chain, length - 1));
  }
  return defineDag(`wide-${tasks}`, [['root', noop([])], ...steps, ['sink', noop(ends)]]);
}

/** What one pass took, in seconds. */
interface Pass {
  /** Storing the definition. */
  readonly registering: number;
  readonly inserting: number;
  /** From the start of the insertion to the end of the last batch. */
  readonly whole: number;
}

async function pass(tasks: number, batches: number): Promise<Pass> {
  await emptyOutbox();
  // Or it would be known from the pass before.
  await administer('TRUNCATE millrace.dag CASCADE');
  await administer('CHECKPOINT');
  const dag = wideDag(tasks);
  const { outbox, close } = await openOutbox({ concurrency: CONCURRENCY, dags: [dag] });
  try {
    const registeringAt = process.hrtime.bigint();
    await outbox.start();
    const registering = seconds(registeringAt);
    const startedAt = process.hrtime.bigint();
    await Promise.all(
      Array.from({ length: batches }, (_, batch) => outbox.pusher.start(dag.name, `batch-${batch}`)),
    );
    const inserting = seconds(startedAt);
    await drained(ANY_BATCH_OPEN);
    return { registering, inserting, whole: seconds(startedAt) };
  } finally {
    await close();
  }
}

/** Batches that are inserted at once and run; nanoseconds per task. */
export const insertingAndRunning = (name: string, tasks: number, batches: number): Side => ({
  name,
  async sample() {
    return ((await pass(tasks, batches)).whole * 1e9) / (tasks * batches);
  },
});

/** The parts of one large batch. */
export const largeBatch = (tasks: number): Gauge => ({
  work: `a DAG of ${tasks.toLocaleString('en')} tasks`,
  // The row before has judged the whole; here are its parts.
  runs: 3,
  readings: [
    { name: 'storing the definition', unit: 's' },
    { name: 'inserting the batch', unit: 's' },
    { name: 'inserting and running', unit: 's' },
  ],
  async run() {
    const { registering, inserting, whole } = await pass(tasks, 1);
    return [registering, inserting, whole];
  },
});
