import type { z } from 'zod';
import { BATCH_ROUTES } from './batch-routes.js';
import { BULK_ROUTES } from './bulk-routes.js';
import { CHAT_ROUTES } from './chat-routes.js';
import { DAG_ROUTES } from './dag-routes.js';
import { DEMO_ROUTES } from './demo-routes.js';
import { FLEET_ROUTES } from './fleet-routes.js';
import { OPERATION_ROUTES } from './operation-routes.js';
import type { RouteId } from './paths.js';
import type { HttpRoute } from './route.js';
import { SCHEDULE_ROUTES } from './schedule-routes.js';
import { SYSTEM_ROUTES } from './system-routes.js';

/** Everything that can be asked of a server, by id. */
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
} as const satisfies Readonly<Partial<Record<RouteId, HttpRoute>>>;

type Given<S> = S extends z.ZodType ? z.input<S> : undefined;

/** What a request of a route carries, as a caller writes it. */
export interface RequestOf<Id extends keyof typeof ROUTES> {
  readonly params: Given<(typeof ROUTES)[Id] extends { params: infer S } ? S : undefined>;
  readonly query: Given<(typeof ROUTES)[Id] extends { query: infer S } ? S : undefined>;
  readonly body: Given<(typeof ROUTES)[Id] extends { body: infer S } ? S : undefined>;
}

/** The statuses of answers that are no problem. */
type Good = 200 | 201 | 202;

/** What a route answers when all is well. */
export type ResponseOf<Id extends keyof typeof ROUTES> = {
  [S in Good]: (typeof ROUTES)[Id]['answers'] extends Readonly<Record<S, { readonly schema: infer A }>>
    ? A extends z.ZodType
      ? z.output<A>
      : never
    : never;
}[Good];
