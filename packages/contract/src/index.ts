/**
 * The HTTP API of Millrace: zod schemas of requests and responses, the table of routes, and errors as RFC 9457 problems. Imports no other
 * Millrace package and runs in browsers. A page that must stay small imports `@millrace/contract/client` and types only.
 *
 * @packageDocumentation
 */

export {
  BatchBody,
  BatchCounts,
  BatchDetailsBody,
  BatchPage,
  BatchStatusName,
  BatchSummary,
  BatchTaskBody,
  BatchTaskPage,
  BatchTaskStatusName,
  BatchTaskSummary,
  StartBatchRequest,
  StartedBatchBody,
} from './batches.js';
export {
  ChatEvent,
  ChatMessagesBody,
  ChatReceiptBody,
  ChatSessionBody,
  ChatSessionList,
  ChatTaskBody,
  ChatTaskResultBody,
  ChatTaskStatusName,
  CreateChatSessionRequest,
  QueueChatMessageRequest,
} from './chat.js';
export {
  AppliedDagBody,
  ApplyDagRequest,
  DagBody,
  DagPage,
  DagTaskRequest,
  RemovedScheduleBody,
  ScheduleBody,
  SchedulePage,
  SetScheduleRequest,
} from './dags.js';
export {
  DEAD_LETTER_IDS_MAX,
  DeadLetterBody,
  DeadLetterPage,
  DeadLetterResponse,
  DeadLetterSelection,
  DeadLetterSignatureBody,
} from './dead-letters.js';
export { PAGE_SIZE_MAX } from './fields.js';
export {
  AuditEntry,
  AuditPage,
  InstanceBody,
  InstanceList,
  InstanceMemory,
  InstancePool,
  InstanceWorkers,
  PoolBody,
  PoolStatusBody,
  QueuesBody,
  ScaleRequest,
  ScaleResponse,
  WORKERS_MAX,
} from './fleet.js';
export {
  GroupBody,
  GroupChangeRequest,
  GroupChangeResponse,
  GroupPage,
  GroupProgressBody,
  GroupRequest,
  GroupResultBody,
  GroupStatusName,
  ProgressBody,
  ProgressPoint,
  SealRequest,
  SubmitGroupRequest,
  SubmitGroupResponse,
} from './groups.js';
export {
  AddJobsRequest,
  AddJobsResponse,
  ExplanationBody,
  JobBody,
  JobDetailBody,
  JobPage,
  JobRequest,
  JobStatusName,
} from './jobs.js';
export {
  AcceptedResponse,
  CancelResponse,
  CompletedResponse,
  ListQuery,
  OperationBody,
  OperationEvent,
  OperationPage,
  OperationStateName,
  OutcomeBody,
  StatusQuery,
  SubmitRequest,
} from './operations.js';
export {
  BatchIdParam,
  ChatSessionIdParam,
  ChatTaskIdParam,
  OpIdParam,
  ScheduleNameParam,
  TaskKeyParam,
} from './params.js';
export { PATHS, type RouteId, VIEWS, type ViewId } from './paths.js';
export {
  FieldError,
  fieldErrorsOf,
  fieldErrorsText,
  LineError,
  PROBLEM_CONTENT_TYPE,
  Problem,
  toProblem,
} from './problem.js';
export {
  type ErrorCode,
  type HttpResponse,
  type HttpRoute,
  ROLES,
  type Role,
  type RouteSpec,
  type Tenancy,
} from './route.js';
export { type RequestOf, type ResponseOf, ROUTES } from './routes.js';
export {
  CongestionBody,
  FairnessBody,
  TenantBody,
  TenantChangeRequest,
} from './shares.js';
export {
  ChangesEvent,
  ChangesSnapshot,
  HelloEvent,
  momentOf,
  STAT_RINGS,
  StatPoint,
  type StatStep,
  StatsBody,
  WatchEvent,
} from './stats.js';
export {
  CallerBody,
  DemoBody,
  DemoRequest,
  DemoStopped,
  HealthBody,
  HealthCheck,
  PAGE_ROUTES,
  type PageRouteId,
} from './system.js';
