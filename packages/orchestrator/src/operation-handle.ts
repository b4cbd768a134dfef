import { ERRORS as FOUNDATION_ERRORS } from '@millrace/foundation';
import type { OpId } from './op-id.js';
import type { Outcome } from './outcome.js';

/** What a caller of `submit` gets: the outcome, or where to ask for it. Exactly one of the last two fields is not null. */
export interface OperationHandle {
  readonly opId: OpId;
  /** The work ended inside the budget. */
  readonly completedFast: boolean;
  readonly responseBodyOrNull: Outcome | null;
  readonly statusUrlOrNull: string | null;
}

const refuse = (option: string, expected: string, given: unknown): never => {
  throw FOUNDATION_ERRORS.create('OPTION_INVALID', { owner: 'OperationHandle', option, expected, given });
};

const requireOpId = (opId: OpId): void => {
  if (typeof opId !== 'string' || opId === '') refuse('opId', 'an OpId', opId);
};

/** Makes handles. */
export const OperationHandle = Object.freeze({
  /**
   * The work ended inside the budget.
   * @throws MillraceError `OPTION_INVALID`.
   */
  completed(opId: OpId, outcome: Outcome): OperationHandle {
    requireOpId(opId);
    if (typeof outcome !== 'object' || outcome === null) refuse('outcome', 'an Outcome', outcome);
    return Object.freeze({ opId, completedFast: true, responseBodyOrNull: outcome, statusUrlOrNull: null });
  },

  /**
   * The work goes on.
   * @throws MillraceError `OPTION_INVALID`.
   */
  async(opId: OpId, statusUrl: string): OperationHandle {
    requireOpId(opId);
    if (typeof statusUrl !== 'string' || statusUrl.trim() === '') refuse('statusUrl', 'a URL', statusUrl);
    return Object.freeze({
      opId,
      completedFast: false,
      responseBodyOrNull: null,
      statusUrlOrNull: statusUrl,
    });
  },
});
