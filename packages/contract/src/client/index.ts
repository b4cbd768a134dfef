/**
 * A small typed client for browsers and Node. It holds no zod: a page that imports it stays small.
 *
 * @packageDocumentation
 */
export type {
  AcceptedResponse,
  CancelResponse,
  CommandBody,
  CompletedResponse,
  ListFilter,
  OperationBody,
  OperationEvent,
  OperationPage,
  OperationStateName,
  OutcomeBody,
} from '../operations.js';
export type { FieldError, Problem } from '../problem.js';
export {
  type CallOptions,
  createClient,
  type OperationsClient,
  type SubmitCallOptions,
  type WaitOptions,
} from './client.js';
export type { ClientOptions } from './http.js';
export { ProblemError } from './problem-error.js';
