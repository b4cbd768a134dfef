import type { Clock, Logger } from '@millrace/foundation';
import type { PostgresOperationStore } from '@millrace/orchestrator/postgres';
import type { Database } from '@millrace/postgres';
import type { ThreadPool } from '@millrace/runtime';
import type { ServerConfig } from '../config/model.js';
import type { Draining } from '../http/draining.js';
import type { Streams } from '../http/streams.js';
import type { ServerMetrics } from '../metrics/server-metrics.js';
import type { ResolvedApp } from './load-app.js';

/** What every module of a server is made of; there before Nest is. */
export interface ServerParts {
  readonly config: ServerConfig;
  readonly app: ResolvedApp;
  readonly database: Database;
  readonly operations: PostgresOperationStore;
  readonly threads: ThreadPool | undefined;
  readonly draining: Draining;
  readonly streams: Streams;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  /** Names this process to the others. */
  readonly instanceId: string;
  readonly version: string;
  /** Where the built page is. */
  readonly pageFolder: string;
}

/** The token of ServerParts. */
export const PARTS = Symbol('SERVER_PARTS');
