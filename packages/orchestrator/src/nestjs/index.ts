/**
 * The orchestrator for NestJS: a module that runs it, its operations over HTTP, errors as RFC 9457 problems, and its
 * parts as injectables.
 *
 * @packageDocumentation
 */
export { Operations } from '../operations.js';
export type { Orchestrator } from '../orchestrator.js';
export { OrchestratorService } from '../orchestrator-service.js';
export type { HttpRequest } from './http.js';
export { OrchestratorModule } from './module.js';
export { OperationsController } from './operations-controller.js';
export {
  ORCHESTRATOR,
  type OrchestratorModuleAsyncOptions,
  type OrchestratorModuleOptions,
  type OrchestratorModuleShape,
  type OrchestratorOptionsFactory,
  type TenantOf,
} from './options.js';
export { OrchestratorHost } from './orchestrator-host.js';
export { ProblemFilter } from './problem-filter.js';
