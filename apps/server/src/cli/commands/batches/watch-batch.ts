import { systemClock } from '@millrace/foundation';
import { type Asking, watchWork } from '../../ask/asking.js';
import { Patience, remarkAway } from '../../ask/patience.js';
import { duration } from '../../show/amounts.js';
import { ProgressBars } from '../../show/progress-bars.js';
import { EXIT } from '../../surroundings.js';
import { type BatchDetails, countsText, resultsOf, showBatch } from './show-batch.js';

/** Small batches end at once; large ones are looked at less often. */
const FIRST_LOOK_MS = 50;
const LOOK_EVERY_MS = 1_000;
const AWAY = 'the server does not answer; waiting for it';

/** How a batch is watched. */
export interface WatchOptions {
  /** The longest wait; no limit unless given. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Waits for the end of a batch, with a bar where somebody can see it, then prints it.
 * @returns the exit code: 0 when the batch is DONE, 1 when it has ended in another way, or not in time.
 * @throws ProblemError when the server refuses; what `fetch` throws when it stays away; the signal's reason when the user interrupts.
 */
export async function watchBatch(
  asking: Asking,
  batchId: string,
  { timeoutMs }: WatchOptions = {},
): Promise<number> {
  const details = await watchWork(asking, ['batches', 'watch', batchId], () =>
    untilEnded(asking, batchId, timeoutMs),
  );
  const results = await resultsOf(asking, details);
  asking.answer(details, (printer) => showBatch(printer, details, results));
  const { status } = details.batch;
  if (status === 'RUNNING')
    asking.printer.remark(`It has not ended within ${duration(timeoutMs)}; it goes on.`);
  return status === 'DONE' ? EXIT.DONE : EXIT.FAILED;
}

async function untilEnded(
  asking: Asking,
  batchId: string,
  timeoutMs: number | undefined,
): Promise<BatchDetails> {
  const { signal, surroundings } = asking;
  using bars = new ProgressBars(surroundings);
  let last: BatchDetails | undefined;
  const onAway = (isAway: boolean) => {
    if (bars.isShown && last) bars.set(batchId, { ...barOf(last), ...(isAway && { note: AWAY }) });
    else remarkAway(asking, isAway);
  };
  const patience = new Patience(asking, { onAway, timeoutMs });
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_EVERY_MS)) {
    last = await patience.ask((client) => client.call('getBatch', { params: { batchId } }, { signal }));
    bars.set(batchId, barOf(last));
    if (last.batch.status !== 'RUNNING' || patience.isOver) return last;
    await patience.pause(pauseMs);
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
