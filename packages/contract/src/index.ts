/**
 * What Millrace says over HTTP: zod schemas of requests and answers, the table of routes, and errors as RFC 9457 problems.
 * Imports nothing of ours and runs in browsers; a page that must stay small imports `@millrace/contract/client` and types only.
 *
 * @packageDocumentation
 */
export {
  type HttpAnswer,
  type HttpRoute,
  OPERATION_ROUTES,
  OPERATIONS_PATH,
  type Role,
} from './operation-routes.js';
export {
  AcceptedAnswer,
  CancelAnswer,
  type CommandBody,
  CompletedAnswer,
  type ListFilter,
  ListQuery,
  OPERATION_EVENTS,
  OperationBody,
  OperationEvent,
  OperationPage,
  OperationStateName,
  OpIdText,
  OutcomeBody,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  StatusQuery,
  SubmitRequest,
} from './operations.js';
export { FieldError, PROBLEM_CONTENT_TYPE, Problem, toProblem } from './problem.js';
