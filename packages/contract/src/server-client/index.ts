/**
 * A typed client of everything that a server can be asked, for browsers and Node. It holds no zod: a page that imports it stays
 * small.
 *
 * @packageDocumentation
 */
export type { ClientOptions } from '../client/http.js';
export { BUSY_STATUSES, ProblemError } from '../client/problem-error.js';
export type { ServerEvent } from '../client/read-events.js';
export type { BodyPieces } from '../client/request-body.js';
export type { Problem } from '../problem.js';
export type { RequestOf, ResponseOf } from '../routes.js';
export { VIEWS, type ViewId } from '../views.js';
export {
  type CallRequest,
  createServerClient,
  type ServerCallOptions,
  type ServerClient,
  type ServerRouteId,
  type UploadOptions,
  type UploadRouteId,
} from './server-client.js';
