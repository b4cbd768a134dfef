/**
 * In-process execution: bounded queues, workers that drain them, a thread pool, and a task manager that runs work in
 * order per key and streams what it produces. `/redis` has the queue that many processes share, `/chat` the chat
 * binding, `/nestjs` the module.
 *
 * @packageDocumentation
 */
export { ERRORS } from './errors.js';
export { type TaskManagerEnvironment, taskManagerConfigFromEnvironment } from './lanes/environment.js';
export {
  type ResolvedTaskManagerConfig,
  resolveTaskManagerConfig,
  TASK_MANAGER_DEFAULTS,
  type TaskManagerConfig,
} from './lanes/options.js';
export type { TaskContext, TaskHandler } from './lanes/run-handler.js';
export type { TaskRequest, TaskResult } from './lanes/task.js';
export {
  type StreamOptions,
  TaskManager,
  type TaskManagerDependencies,
  type TaskManagerStats,
} from './lanes/task-manager.js';
export { InMemoryQueue, type InMemoryQueueDependencies } from './memory/queue.js';
export type { QueueItem, StreamEvent, TaskStatus, TaskView } from './model.js';
export {
  QUEUE_DEFAULTS,
  type QueueConfig,
  type ResolvedQueueConfig,
  type ResolvedWorkerConfig,
  resolveQueueConfig,
  resolveWorkerConfig,
  WORKER_DEFAULTS,
  type WorkerConfig,
} from './options.js';
export type { Queue, QueueWaitOptions } from './ports.js';
export type { WorkHandler } from './process-item.js';
export {
  type ResolvedThreadPoolConfig,
  resolveThreadPoolConfig,
  type ShutdownOptions,
  THREAD_POOL_DEFAULTS,
  type ThreadPoolConfig,
} from './threads/options.js';
export type { PoolTask, TaskWrapper } from './threads/submitting.js';
export { currentTaskSignal, type TaskFuture, type TaskFutureStatus } from './threads/task.js';
export { ThreadPool } from './threads/thread-pool.js';
export { type ThreadTask, threadTask } from './threads/thread-task.js';
export { type HandleFunction, Worker, type WorkerDependencies, type WorkerState } from './worker.js';
