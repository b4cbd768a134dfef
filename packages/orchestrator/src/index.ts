/**
 * Runs commands within a time budget. `submit()` returns the outcome if the work ends in time. Otherwise it returns a
 * status URL and the work continues. Every accepted operation ends with exactly one outcome.
 *
 * @packageDocumentation
 */
export { defineRoutes, inline } from './define-routes.js';
export { ERRORS } from './errors.js';
export { type OrchestratorEventMap, OrchestratorEvents, type Repairer } from './events.js';
export { InlineFastPathRunner } from './inline-fast-path-runner.js';
export { MemoryOperationStore } from './memory/store.js';
export {
  type Backing,
  type Command,
  type CommandInput,
  type Ending,
  Envelope,
  type NewOperation,
  type OnLost,
  type Operation,
  type OperationFilter,
  type OwnedOperation,
  type Page,
  type RouteTraits,
  type RunRef,
  type Settlement,
} from './model.js';
export { OpId } from './op-id.js';
export { type Estimate, type OperationPageRequest, Operations, type TenantScope } from './operations.js';
export {
  ATTEMPT_DEFAULTS,
  type AttemptOptions,
  ORCHESTRATOR_DEFAULTS,
  type OrchestratorOptions,
  type ResolvedOrchestratorOptions,
  resolveOrchestratorOptions,
  type TimeBudgetOptions,
  type WorkerOptions,
} from './options.js';
export { OperationHandle, type Orchestrator, type SubmitOptions } from './orchestrator.js';
export { OrchestratorService } from './orchestrator-service.js';
export { type FailOutcome, type OkOutcome, Outcome, type RetryOutcome } from './outcome.js';
export type {
  AcceptAnswer,
  Attempt,
  BackedOperation,
  BackingLook,
  BackingPort,
  CancelAnswer,
  ClaimRequest,
  ExecuteAnswer,
  Executor,
  Notices,
  OpenCounts,
  OperationCounts,
  OperationStore,
  Reaped,
  Refusal,
  Repairs,
  RoutedOperation,
  Runs,
  SettleAnswer,
  SettledListener,
  Views,
} from './ports.js';
export type {
  BulkheadOptions,
  CircuitBreakerOptions,
  HedgeOptions,
  OnRefused,
  ProtectionOptions,
  RateLimitOptions,
} from './protection/options.js';
export type { ProtectionState } from './protection/protection.js';
export { RouteExecutor, type RouteExecutorOptions } from './route-executor.js';
export type {
  BackedRoute,
  BackingAdapter,
  InlineContext,
  InlineHandler,
  InlineOptions,
  InlineRoute,
  Route,
  RouteOptions,
  Routes,
} from './routes.js';
export { isTerminal, OPERATION_STATES, type OperationState, StateTransition, TRANSITIONS } from './states.js';
