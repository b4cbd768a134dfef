import {
  type Aggregator,
  type BulkActionConfig,
  BulkActionEngine,
  type BulkStore,
  type JobProcessor,
  resolveBulkActionConfig,
} from '@millrace/bulk-action';
import { openRedisStore } from '@millrace/bulk-action/redis';
import { KEY_PREFIX, type RedisPlace } from './settings.js';

/** What an engine is opened with. */
export interface EngineParts {
  readonly redis: RedisPlace;
  readonly config: BulkActionConfig;
  readonly processors?: readonly JobProcessor<never, unknown>[];
  readonly aggregators?: readonly Aggregator[];
  /** Stands between engine and store. */
  readonly between?: (store: BulkStore) => BulkStore;
}

/** An engine on Redis, and how to end it with its connection. */
export interface OpenEngine extends AsyncDisposable {
  readonly engine: BulkActionEngine;
  close(): Promise<void>;
}

/** Makes an engine on Redis; it is not started. */
export function openEngine({
  redis,
  config,
  processors = [],
  aggregators = [],
  between = (store) => store,
}: EngineParts): OpenEngine {
  const store = openRedisStore(resolveBulkActionConfig(config), { ...redis, keyPrefix: KEY_PREFIX });
  const engine = new BulkActionEngine({ config, processors, aggregators, store: between(store) });
  const close = () => engine.stop();
  return { engine, close, [Symbol.asyncDispose]: close };
}
