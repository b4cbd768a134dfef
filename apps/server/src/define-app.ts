import type { Aggregator, BulkActionConfig, BulkActionService, JobProcessor } from '@millrace/bulk-action';
import type { Orchestrator, Routes } from '@millrace/orchestrator';
import type { DagDefinition, Pusher } from '@millrace/outbox';
import type { ChatRuntime } from '@millrace/runtime/chat';

/** What a user brings: the work itself. */
export interface AppParts {
  /** Who runs bulk jobs, one per type. */
  readonly processors?: readonly JobProcessor[] | undefined;
  /** Who adds up the results of groups, one per processor type. */
  readonly aggregators?: readonly Aggregator[] | undefined;
  /** Batches of tasks that depend on each other. */
  readonly dags?: readonly DagDefinition[] | undefined;
  /** Where commands go, by `DOMAIN.EVENT_TYPE`. */
  readonly routes?: Routes | undefined;
  /** What is known of the services that processors call, by name. */
  readonly resources?: BulkActionConfig['resources'] | undefined;
  /** What answers in chats. */
  readonly chat?: ChatRuntime | undefined;
}

/** What handlers reach the parts by. Usable when the server has started: inside handlers, not while the application is defined. */
export interface AppServices {
  readonly bulk: BulkActionService;
  readonly pusher: Pusher;
  readonly orchestrator: Orchestrator;
}

/** Makes the parts of an application whose handlers use the services. */
export type AppFactory = (services: AppServices) => AppParts;

const APP = Symbol.for('millrace application');

/** An application, as `millrace start --app` loads it. */
export interface App {
  readonly [APP]: AppParts | AppFactory;
}

/**
 * Defines an application: what `millrace start --app ./app.mjs` serves. The module exports it as default, or as `app`.
 * @param parts - the processors, DAGs, routes and so on; or a function that makes them, so that handlers reach the services.
 */
export function defineApp(parts: AppParts | AppFactory): App {
  return Object.freeze({ [APP]: parts });
}

/**
 * What an application is made of.
 * @returns undefined for what is no application.
 */
export const partsOf = (app: unknown): AppParts | AppFactory | undefined =>
  typeof app === 'object' && app !== null ? (app as Partial<App>)[APP] : undefined;
