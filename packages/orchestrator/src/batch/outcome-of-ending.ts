import type { BatchEnding } from '@millrace/outbox';
import { ERRORS } from '../errors.js';
import type { Backing } from '../model.js';
import { Outcome } from '../outcome.js';
import { outcomeOrReference, referenceOutcome } from '../rules/outcomes.js';

/** What a batch is to its operation. */
export const backingOf = (batchId: string): Backing => ({ kind: 'batch', ref: batchId });

/**
 * PostgreSQL writes JSON with spaces, so it may count up to half as many bytes more than there are. It only keeps what is far too large from
 * being read; what is read is measured again.
 * @param outcomeBytesMax - most bytes of a result that is kept with its operation.
 */
export const readBytesMax = (outcomeBytesMax: number): number => outcomeBytesMax * 2;

/**
 * What the end of a batch means for its operation.
 * @param bytesMax - most bytes of a result that is kept with its operation.
 * @returns undefined while it runs.
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
