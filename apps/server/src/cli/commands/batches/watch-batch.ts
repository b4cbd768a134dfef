import { sleep, systemClock } from '@millrace/foundation';
import type { Asking } from '../../ask/asking.js';
import { duration } from '../../show/amounts.js';
import { ProgressBars } from '../../show/progress-bars.js';
import { EXIT } from '../../surroundings.js';
import { type BatchDetails, countsText, showBatch } from './show-batch.js';

const LOOK_EVERY_MS = 500;

/**
 * Waits for the end of a batch, with a bar where somebody can see it, then prints it.
 * @param asking - see Asking.
 * @param batchId - which batch.
 * @returns the exit code: 0 when the batch is DONE, 1 when it has ended in another way.
 * @throws ProblemError when the server refuses; the signal's reason when the user interrupts.
 */
export async function watchBatch(asking: Asking, batchId: string): Promise<number> {
  const details = await untilEnded(asking, batchId);
  asking.answer(details, (printer) => showBatch(printer, details));
  return details.batch.status === 'DONE' ? EXIT.DONE : EXIT.FAILED;
}

async function untilEnded(asking: Asking, batchId: string): Promise<BatchDetails> {
  const { client, signal, surroundings } = asking;
  using bars = new ProgressBars(surroundings);
  for (;;) {
    const details = await client.call('getBatch', { params: { batchId } }, { signal });
    bars.set(batchId, barOf(details));
    if (details.batch.status !== 'RUNNING') return details;
    await sleep(systemClock, LOOK_EVERY_MS, signal);
  }
}

function barOf({ batch, counts, eta }: BatchDetails) {
  const { waiting, ready, processing, ...ended } = counts;
  const leftMs = eta === null ? undefined : Date.parse(eta) - systemClock.now();
  return {
    label: `${batch.dag} ${batch.bizKey}`,
    done: Object.values(ended).reduce((total, count) => total + count, 0),
    total: batch.taskCount,
    note:
      leftMs !== undefined && leftMs > 0
        ? `${countsText(counts)}, ${duration(leftMs)} left`
        : countsText(counts),
  };
}
