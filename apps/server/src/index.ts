/**
 * Millrace as one system: an application of your own, served over HTTP with everything around it.
 *
 * @packageDocumentation
 */
export { type GivenServerConfig, isEmbedded, ServerConfig } from './config/model.js';
export {
  type App,
  type AppFactory,
  type AppParts,
  type AppServices,
  defineApp,
} from './define-app.js';
export { ERRORS } from './errors.js';
export { type RunningServer, type StartOptions, startServer } from './start-server.js';
