/**
 * The method and path of every route, by id. `{name}` is a parameter, see `PARAMS`. Without schemas, so that a page that calls them stays
 * small.
 */
export const PATHS = {
  submitOperation: ['POST', '/api/operations'],
  listOperations: ['GET', '/api/operations'],
  getOperationStatus: ['GET', '/api/operations/{opId}/status'],
  watchOperation: ['GET', '/api/operations/{opId}/events'],
  cancelOperation: ['DELETE', '/api/operations/{opId}'],

  submitGroup: ['POST', '/api/bulk/groups'],
  listGroups: ['GET', '/api/bulk/groups'],
  getGroup: ['GET', '/api/bulk/groups/{groupId}'],
  changeGroup: ['PATCH', '/api/bulk/groups/{groupId}'],
  cancelGroup: ['DELETE', '/api/bulk/groups/{groupId}'],
  getGroupResult: ['GET', '/api/bulk/groups/{groupId}/result'],
  getGroupProgress: ['GET', '/api/bulk/groups/{groupId}/progress'],
  sealGroup: ['POST', '/api/bulk/groups/{groupId}/seal'],
  addJobs: ['POST', '/api/bulk/groups/{groupId}/jobs'],
  listJobs: ['GET', '/api/bulk/groups/{groupId}/jobs'],
  getJob: ['GET', '/api/bulk/groups/{groupId}/jobs/{jobId}'],
  explainJob: ['GET', '/api/bulk/groups/{groupId}/jobs/{jobId}/explain'],
  getTenant: ['GET', '/api/bulk/tenants/{tenantId}'],
  changeTenant: ['PATCH', '/api/bulk/tenants/{tenantId}'],
  getFairness: ['GET', '/api/bulk/fairness'],
  getQueues: ['GET', '/api/bulk/queues'],
  getPool: ['GET', '/api/bulk/pool'],
  scalePool: ['PATCH', '/api/bulk/pool'],
  listDeadLetters: ['GET', '/api/bulk/dead-letters'],
  redriveDeadLetters: ['POST', '/api/bulk/dead-letters/redrive'],
  purgeDeadLetters: ['POST', '/api/bulk/dead-letters/purge'],
  getCongestion: ['GET', '/api/bulk/congestion'],

  applyDag: ['POST', '/api/dags'],
  listDags: ['GET', '/api/dags'],
  startBatch: ['POST', '/api/batches'],
  listBatches: ['GET', '/api/batches'],
  getBatch: ['GET', '/api/batches/{batchId}'],
  abortBatch: ['POST', '/api/batches/{batchId}/abort'],
  retryBatch: ['POST', '/api/batches/{batchId}/retry'],
  listBatchTasks: ['GET', '/api/batches/{batchId}/tasks'],
  retryBatchTask: ['POST', '/api/batches/{batchId}/tasks/{taskKey}/retry'],
  setSchedule: ['POST', '/api/schedules'],
  listSchedules: ['GET', '/api/schedules'],
  removeSchedule: ['DELETE', '/api/schedules/{name}'],

  createChatSession: ['POST', '/api/chat/sessions'],
  listChatSessions: ['GET', '/api/chat/sessions'],
  getChatSession: ['GET', '/api/chat/sessions/{sessionId}'],
  queueChatMessage: ['POST', '/api/chat/sessions/{sessionId}/queue'],
  getChatTaskStatus: ['GET', '/api/chat/sessions/{sessionId}/tasks/{taskId}/status'],
  getChatTaskResult: ['GET', '/api/chat/sessions/{sessionId}/tasks/{taskId}/result'],
  streamChatTask: ['GET', '/api/chat/sessions/{sessionId}/tasks/{taskId}/stream'],
  cancelChatTask: ['DELETE', '/api/chat/sessions/{sessionId}/tasks/{taskId}'],

  getCaller: ['GET', '/api/caller'],
  getStats: ['GET', '/api/stats'],
  listInstances: ['GET', '/api/instances'],
  listAudit: ['GET', '/api/audit'],
  startDemo: ['POST', '/api/demo'],
  stopDemo: ['DELETE', '/api/demo'],
  watchChanges: ['GET', '/api/events'],
  getMetrics: ['GET', '/metrics'],
  getLive: ['GET', '/health/live'],
  getReady: ['GET', '/health/ready'],
  getDocs: ['GET', '/api/docs'],
  getDocsStyle: ['GET', '/api/docs/style.css'],
  getOpenApi: ['GET', '/openapi.json'],
} as const satisfies Record<string, readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string]>;

/** The id of a route. */
export type RouteId = keyof typeof PATHS;

/**
 * The path of every view of the dashboard, by id. `{name}` is an escaped parameter. The server returns the same page for each, so that a
 * view can be reloaded and its link be shared.
 */
export const VIEWS = {
  overview: '/',
  groups: '/groups',
  group: '/groups/{groupId}',
  jobs: '/groups/{groupId}/jobs',
  job: '/groups/{groupId}/jobs/{jobId}',
  deadLetters: '/dead-letters',
  batches: '/batches',
  batch: '/batches/{batchId}',
  operations: '/operations',
  operation: '/operations/{opId}',
  congestion: '/congestion',
  chat: '/chat',
  chatSession: '/chat/{sessionId}',
  workers: '/workers',
} as const satisfies Readonly<Record<string, string>>;

/** The id of a view. */
export type ViewId = keyof typeof VIEWS;
