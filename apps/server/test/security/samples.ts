import { type HttpRoute, PATHS, ROUTES, type RouteId } from '@millrace/contract';

/** A request that its route can read, with ids of things of one tenant in it. */
export interface Sample {
  readonly query?: string | undefined;
  readonly body?: unknown;
}

/** The ids of things that exist, by the parameters that name them. */
export interface Ids {
  readonly groupId: string;
  readonly jobId: string;
  readonly tenantId: string;
  readonly batchId: string;
  readonly taskKey: string;
  readonly name: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly opId: string;
}

/** Ids that nothing has. */
export const NOBODYS: Ids = {
  groupId: 'none',
  jobId: 'none',
  tenantId: 'none',
  batchId: '999999',
  taskKey: 'none',
  name: 'none',
  sessionId: 'none',
  taskId: 'none',
  opId: '019a0000-0000-7000-8000-000000000000',
};

const NOTHING: Sample = {};

/** For every route a request that its schemas accept. A route without one fails the tests that go through all of them. */
export const SAMPLES: Readonly<Record<RouteId, (ids: Ids) => Sample>> = {
  submitOperation: () => ({ body: { domain: 'FIXTURE', eventType: 'ECHO', bizKey: 'sample' } }),
  listOperations: () => NOTHING,
  getOperationStatus: () => NOTHING,
  watchOperation: () => NOTHING,
  cancelOperation: () => NOTHING,
  submitGroup: () => ({ body: { group: { id: 'sample' }, jobs: [] } }),
  listGroups: () => NOTHING,
  getGroup: () => NOTHING,
  changeGroup: () => ({ body: { weight: 2 } }),
  cancelGroup: () => NOTHING,
  getGroupResult: () => NOTHING,
  getGroupProgress: () => NOTHING,
  sealGroup: () => ({ body: {} }),
  addJobs: () => ({ body: { jobs: [{ processorType: 'fixture.ok' }] } }),
  listJobs: () => NOTHING,
  getJob: () => NOTHING,
  explainJob: () => NOTHING,
  getTenant: () => NOTHING,
  changeTenant: () => ({ body: { weight: 2 } }),
  getFairness: () => NOTHING,
  getQueues: () => NOTHING,
  getPool: () => NOTHING,
  scalePool: () => ({ body: { workerCount: 3 } }),
  listDeadLetters: () => NOTHING,
  redriveDeadLetters: ({ groupId }) => ({ body: { groupId, expectedCount: 1 } }),
  purgeDeadLetters: ({ groupId }) => ({ body: { groupId, expectedCount: 1 } }),
  getCongestion: () => NOTHING,
  applyDag: () => ({ body: { name: 'fixture-dag', tasks: { first: {} } } }),
  listDags: () => NOTHING,
  startBatch: () => ({ body: { dag: 'fixture-dag', bizKey: 'sample' } }),
  listBatches: () => NOTHING,
  getBatch: () => NOTHING,
  abortBatch: () => NOTHING,
  retryBatch: () => NOTHING,
  listBatchTasks: () => NOTHING,
  retryBatchTask: () => NOTHING,
  setSchedule: () => ({ body: { name: 'sample', dag: 'fixture-dag', cron: '0 3 * * *' } }),
  listSchedules: () => NOTHING,
  removeSchedule: () => NOTHING,
  createChatSession: () => ({ body: {} }),
  listChatSessions: () => NOTHING,
  getChatSession: () => NOTHING,
  queueChatMessage: () => ({ body: { message: 'hello' } }),
  getChatTaskStatus: () => NOTHING,
  getChatTaskResult: () => NOTHING,
  streamChatTask: () => NOTHING,
  cancelChatTask: () => NOTHING,
  getCaller: () => NOTHING,
  getStats: () => NOTHING,
  listInstances: () => NOTHING,
  listAudit: () => NOTHING,
  startDemo: () => ({ body: {} }),
  stopDemo: () => NOTHING,
  watchChanges: () => NOTHING,
  getMetrics: () => NOTHING,
  getLive: () => NOTHING,
  getReady: () => NOTHING,
  getDocs: () => NOTHING,
  getDocsStyle: () => NOTHING,
  getOpenApi: () => NOTHING,
};

/** All routes. */
export const ALL_ROUTES: readonly HttpRoute[] = Object.values(ROUTES);

/** The address of a route with ids in it. */
export const addressOf = (id: RouteId, ids: Ids): string =>
  PATHS[id][1].replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name as keyof Ids]));
