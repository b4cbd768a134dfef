/**
 * Queues and workers for NestJS: a module that holds an application's queues, and a decorator that makes a provider's
 * method the handler of one.
 *
 * @packageDocumentation
 */
export {
  InjectQueue,
  QueueWorker,
  type QueueWorkerDecorator,
  type QueueWorkerMethod,
} from './decorators.js';
export { RuntimeModule } from './module.js';
export {
  type QueueSource,
  queueToken,
  type ResolvedRuntimeModuleOptions,
  RUNTIME_DEFAULTS,
  RUNTIME_OPTIONS,
  type RuntimeModuleAsyncOptions,
  type RuntimeModuleOptions,
  type RuntimeOptionsFactory,
} from './options.js';
export { QueueWorkers } from './workers.js';
