import type { GroupResult } from '@millrace/bulk-action';
import { ERRORS } from '../errors.js';
import type { Backing } from '../model.js';
import { Outcome } from '../outcome.js';
import { outcomeOrReference } from '../rules/outcome-or-reference.js';

/**
 * What the end of a group means for its operation.
 * @param bytesMax - most bytes of a result that is kept with its operation.
 */
export function outcomeOfResult(result: GroupResult, backing: Backing, bytesMax: number): Outcome {
  const { status, total, success, failed, cancelled } = result;
  if (status === 'COMPLETED') return outcomeOrReference(result, backing, bytesMax);
  const cause = { groupId: result.groupId, total, success, failed, cancelled };
  if (status === 'CANCELLED') return Outcome.fail('CANCELLED', ERRORS.create('CANCELLED', {}).message, cause);
  const { message } = ERRORS.create('GROUP_FAILED', { group: result.groupId, reason: result.code ?? status });
  return Outcome.fail(result.code ?? 'GROUP_FAILED', result.message ?? message, cause);
}
