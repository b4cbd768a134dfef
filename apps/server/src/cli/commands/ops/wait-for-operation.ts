import { systemClock } from '@millrace/foundation';
import { type Asking, watchWork } from '../../ask/asking.js';
import { Patience } from '../../ask/patience.js';
import { EXIT } from '../../surroundings.js';
import { type Operation, showOperation } from './show-operation.js';

/** One long poll: below what Patience gives one answer. */
const POLL_MS = 5_000;
/** Between two of them: a server that is about to stop answers at once. */
const POLL_PAUSE_MS = 100;

/** How an operation is waited for. */
export interface WaitOptions {
  /** The longest wait; no limit unless given. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Waits for the end of an operation, then prints it.
 * @returns the exit code: 0 when the operation is COMPLETED, 1 when it has FAILED or the time was up.
 * @throws ProblemError when the server refuses; what `fetch` throws when it stays away; the signal's reason when the user interrupts.
 */
export async function waitForOperation(
  asking: Asking,
  opId: string,
  { timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions = {},
): Promise<number> {
  const { printer } = asking;
  const operation = await watchWork(asking, ['ops', 'wait', opId], () => untilEnded(asking, opId, timeoutMs));
  asking.answer(operation, () => showOperation(printer, operation));
  if (operation.endedAt === null)
    printer.remark(`It has not ended within ${timeoutMs / 1000} s; it goes on. --timeout waits longer.`);
  return operation.state === 'COMPLETED' ? EXIT.DONE : EXIT.FAILED;
}

async function untilEnded(asking: Asking, opId: string, timeoutMs: number): Promise<Operation> {
  const { signal } = asking;
  const endsAt = systemClock.monotonicMs() + timeoutMs;
  const patience = new Patience(asking, { timeoutMs });
  for (;;) {
    const operation = await patience.ask((client) => {
      const leftMs = Math.max(0, endsAt - systemClock.monotonicMs());
      const wait = (Math.min(leftMs, POLL_MS) / 1000).toFixed(3);
      return client.call('getOperationStatus', { params: { opId }, query: { wait } }, { signal });
    });
    if (operation.endedAt !== null || patience.isOver) return operation;
    await patience.pause(POLL_PAUSE_MS);
  }
}
