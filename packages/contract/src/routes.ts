import type { z } from 'zod';
import { BATCH_ROUTES } from './batch-routes.js';
import { BULK_ROUTES } from './bulk-routes.js';
import { CHAT_ROUTES } from './chat-routes.js';
import { DAG_ROUTES } from './dag-routes.js';
import { DEMO_ROUTES } from './demo-routes.js';
import { FLEET_ROUTES } from './fleet-routes.js';
import { OPERATION_ROUTES } from './operation-routes.js';
import type { RouteId } from './paths.js';
import type { HttpResponse, HttpRoute } from './route.js';
import { SCHEDULE_ROUTES } from './schedule-routes.js';
import { SYSTEM_ROUTES } from './system-routes.js';

/** Every route of the API, by id. */
export const ROUTES = {
  ...DEMO_ROUTES,
  ...FLEET_ROUTES,
  ...BATCH_ROUTES,
  ...BULK_ROUTES,
  ...CHAT_ROUTES,
  ...DAG_ROUTES,
  ...OPERATION_ROUTES,
  ...SCHEDULE_ROUTES,
  ...SYSTEM_ROUTES,
} as const satisfies Readonly<Record<RouteId, HttpRoute>>;

type Given<S> = S extends z.ZodType ? z.input<S> : undefined;

/** The request of a route, as a caller writes it. */
export interface RequestOf<Id extends RouteId> {
  readonly params: Given<(typeof ROUTES)[Id] extends { params: infer S } ? S : undefined>;
  readonly query: Given<(typeof ROUTES)[Id] extends { query: infer S } ? S : undefined>;
  readonly body: Given<(typeof ROUTES)[Id] extends { body: infer S } ? S : undefined>;
}

/** The statuses of responses with a body that are no failure. */
type Good = 200 | 201 | 202;

type BodyOf<Ok> = Ok extends z.ZodType
  ? z.output<Ok>
  : { [S in keyof Ok & Good]: Ok[S] extends HttpResponse<infer A> ? z.output<A> : never }[keyof Ok & Good];

/** The body of a successful response of a route. */
export type ResponseOf<Id extends RouteId> = BodyOf<(typeof ROUTES)[Id]['ok']>;
