import type { z } from 'zod';
import { BATCH_ROUTES } from './batches.js';
import { CHAT_ROUTES } from './chat.js';
import { DAG_ROUTES } from './dags.js';
import { DEAD_LETTER_ROUTES } from './dead-letters.js';
import { FLEET_ROUTES } from './fleet.js';
import { GROUP_ROUTES } from './groups.js';
import { JOB_ROUTES } from './jobs.js';
import { OPERATION_ROUTES } from './operations.js';
import type { RouteId } from './paths.js';
import type { HttpResponse, HttpRoute } from './route.js';
import { SHARE_ROUTES } from './shares.js';
import { STATS_ROUTES } from './stats.js';
import { CALLER_ROUTES, DEMO_ROUTES, PUBLIC_ROUTES } from './system.js';

/** Every route of the API, by id. */
export const ROUTES = {
  ...BATCH_ROUTES,
  ...CALLER_ROUTES,
  ...CHAT_ROUTES,
  ...DAG_ROUTES,
  ...DEAD_LETTER_ROUTES,
  ...DEMO_ROUTES,
  ...FLEET_ROUTES,
  ...GROUP_ROUTES,
  ...JOB_ROUTES,
  ...OPERATION_ROUTES,
  ...PUBLIC_ROUTES,
  ...SHARE_ROUTES,
  ...STATS_ROUTES,
} as const satisfies Readonly<Record<RouteId, HttpRoute>>;

/** The request of a route, as a caller writes it. */
export type RequestOf<Id extends RouteId> = {
  readonly [Part in 'params' | 'query' | 'body']: (typeof ROUTES)[Id] extends {
    readonly [P in Part]: infer S extends z.ZodType;
  }
    ? z.input<S>
    : undefined;
};

/** The statuses of responses with a body that are no failure. */
type Good = 200 | 201 | 202;

type BodyOf<Ok> = Ok extends z.ZodType
  ? z.output<Ok>
  : { [S in keyof Ok & Good]: Ok[S] extends HttpResponse<infer A> ? z.output<A> : never }[keyof Ok & Good];

/** The body of a successful response of a route. */
export type ResponseOf<Id extends RouteId> = BodyOf<(typeof ROUTES)[Id]['ok']>;
