/**
 * The outbox for NestJS: a module that runs it, handlers as methods of providers, and its parts as injectables.
 *
 * @packageDocumentation
 */
export { Batches } from '../batches.js';
export { Dags } from '../dags.js';
export { Outbox } from '../outbox.js';
export { Poller } from '../poller.js';
export { Pusher } from '../pusher.js';
export { DagRegistry } from '../registry.js';
export { Schedules } from '../schedules.js';
export { OutboxTask, type OutboxTaskDecorator } from './decorators.js';
export { OutboxModule } from './module.js';
export {
  type DatabaseSource,
  OUTBOX_DATABASE,
  type OutboxModuleAsyncOptions,
  type OutboxModuleOptions,
  type OutboxOptionsFactory,
} from './options.js';
