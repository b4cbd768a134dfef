/**
 * What Millrace says over HTTP: zod schemas of requests and answers, the table of routes, and errors as RFC 9457 problems.
 * Imports nothing of ours and runs in browsers; a page that must stay small imports `@millrace/contract/client` and types only.
 *
 * @packageDocumentation
 */
export { OPERATION_ROUTES } from './operation-routes.js';
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
export { type HttpMethod, type MethodAndPath, PATHS, type RouteId } from './paths.js';
export { FieldError, fieldErrorsOf, PROBLEM_CONTENT_TYPE, Problem, toProblem } from './problem.js';
export { type HttpAnswer, type HttpRoute, ROLES, type Role, type RouteSpec, type Tenancy } from './route.js';
export { type AnswerOf, type RequestOf, ROUTES } from './routes.js';
export { CallerBody, HealthBody, HealthCheck } from './system.js';
export { SYSTEM_ROUTES } from './system-routes.js';
