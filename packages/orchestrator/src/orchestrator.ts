import type { CommandInput } from './model.js';
import type { OperationHandle } from './operation-handle.js';

/** What travels with a command. */
export interface SubmitOptions {
  /** '' unless given. */
  readonly tenant?: string | undefined;
  /** W3C trace context. */
  readonly traceparent?: string | undefined;
}

/** The front door: one call that adapts to the work. */
export interface Orchestrator {
  /**
   * Accepts a command and waits for its end, at most for the budget. Once it is accepted it ends, whatever happens to this process.
   * @param timeBudgetMs - longest wait, storing included; `timeBudget.defaultMs` unless given. An end at exactly the budget is late.
   * @returns the outcome when the work ended inside the budget, else the status URL.
   * @throws MillraceError `COMMAND_INVALID`, `ID_INVALID` (the tenant), `TIME_BUDGET_OUT_OF_RANGE`, `ROUTE_NOT_FOUND`, `IDEMPOTENCY_CONFLICT`,
   * `OPERATION_RUNNING`, `STORE_UNAVAILABLE`, `STORE_FULL`, `ORCHESTRATOR_STOPPING`; on routes that refuse: `RATE_LIMIT`, `CB_OPEN`, `BULKHEAD_FULL`.
   */
  submit(command: CommandInput, timeBudgetMs?: number, options?: SubmitOptions): Promise<OperationHandle>;
}
