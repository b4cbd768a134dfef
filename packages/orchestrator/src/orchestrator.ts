import { optionInvalid } from '@millrace/foundation';
import type { CommandInput } from './model.js';
import type { OpId } from './op-id.js';
import type { Outcome } from './outcome.js';

/** Data that travels with a command. */
export interface SubmitOptions {
  /** The tenant (''). */
  readonly tenant?: string | undefined;
  /** W3C trace context (none). */
  readonly traceparent?: string | undefined;
}

/** Runs commands within a time budget. */
export interface Orchestrator {
  /**
   * Accepts a command and waits at most `timeBudgetMs` for its end. An accepted command ends even if this process dies.
   * @param timeBudgetMs - longest wait, including the time to store the command (`timeBudget.defaultMs`). An end at
   * exactly the budget is late.
   * @returns the outcome if the work ended within the budget, else the status URL.
   * @throws MillraceError `COMMAND_INVALID`, `ID_INVALID` (the tenant), `TIME_BUDGET_OUT_OF_RANGE`, `ROUTE_NOT_FOUND`,
   * `IDEMPOTENCY_CONFLICT`, `OPERATION_RUNNING`, `STORE_UNAVAILABLE`, `STORE_FULL`, `ORCHESTRATOR_STOPPING`, and on
   * routes with `onRefused: 'reject'` `RATE_LIMIT`, `CB_OPEN`, `BULKHEAD_FULL`.
   */
  submit(command: CommandInput, timeBudgetMs?: number, options?: SubmitOptions): Promise<OperationHandle>;
}

/** The result of `submit`: the outcome or the status URL. Exactly one of the last two fields is not null. */
export interface OperationHandle {
  readonly opId: OpId;
  /** True if the work ended within the budget. */
  readonly completedFast: boolean;
  readonly responseBodyOrNull: Outcome | null;
  readonly statusUrlOrNull: string | null;
}

const invalid = (option: string, expected: string, given: unknown) =>
  optionInvalid('OperationHandle', option, expected, given);

function requireOpId(opId: OpId): void {
  if (typeof opId !== 'string' || opId === '') throw invalid('opId', 'an OpId', opId);
}

/** Makes handles. */
export const OperationHandle = Object.freeze({
  /**
   * Makes the handle of work that ended within the budget.
   * @throws MillraceError `OPTION_INVALID`.
   */
  completed(opId: OpId, outcome: Outcome): OperationHandle {
    requireOpId(opId);
    if (typeof outcome !== 'object' || outcome === null) throw invalid('outcome', 'an Outcome', outcome);
    return Object.freeze({ opId, completedFast: true, responseBodyOrNull: outcome, statusUrlOrNull: null });
  },

  /**
   * Makes the handle of work that continues.
   * @throws MillraceError `OPTION_INVALID`.
   */
  async(opId: OpId, statusUrl: string): OperationHandle {
    requireOpId(opId);
    if (typeof statusUrl !== 'string' || statusUrl.trim() === '')
      throw invalid('statusUrl', 'a URL', statusUrl);
    return Object.freeze({
      opId,
      completedFast: false,
      responseBodyOrNull: null,
      statusUrlOrNull: statusUrl,
    });
  },
});
