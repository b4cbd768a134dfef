import type { BatchEnding } from '@millrace/outbox';
import { ERRORS } from '../errors.js';
import type { Backing } from '../model.js';
import { Outcome } from '../outcome.js';
import { outcomeOrReference, referenceOutcome } from '../rules/outcomes.js';

/** Makes the backing for a batch. */
export const backingOf = (batchId: string): Backing => ({ kind: 'batch', ref: batchId });

/**
 * Returns the limit for reading results. PostgreSQL writes JSON with spaces and may count half as many bytes more. This
 * limit only keeps far too large results from being read; the exact one is applied afterwards.
 */
export const readBytesMax = (outcomeBytesMax: number): number => outcomeBytesMax * 2;

/**
 * Returns the outcome of an operation whose batch has ended, or undefined while the batch runs.
 * @param bytesMax - maximum size of a result that is stored with its operation.
 */
export function outcomeOfEnding(ending: BatchEnding, bytesMax: number): Outcome | undefined {
  const { id, status, results, failure } = ending;
  switch (status) {
    case 'RUNNING':
      return undefined;
    case 'DONE':
      return results
        ? outcomeOrReference({ batchId: id, results }, backingOf(id), bytesMax)
        : referenceOutcome(backingOf(id));
    case 'ABORTED':
      return Outcome.fail('CANCELLED', ERRORS.create('CANCELLED', {}).message, { batchId: id });
    case 'FAILED': {
      const { code, message } = failure?.error ?? ERRORS.create('BATCH_FAILED', { batch: id });
      return Outcome.fail(code, message, { batchId: id, ...(failure && { task: failure.task }) });
    }
  }
}
